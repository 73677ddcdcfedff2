/**
 * doctor on a node that upstream's ipvs mode serves under traffic, with everything on it that stands in
 * the way of nftables mode: exactly that is found, what it prints mends it, and the switch then costs
 * nobody a connection.
 */
import assert from "node:assert/strict";
import { ourProgram } from "../../controlplane/rig/proxy_process.ts";
import { runCommand } from "../../kernel/rig/command.ts";
import { clusterIP, hostAddresses, podCIDRs } from "../../scenarios/addresses.ts";
import { ipvsModes, nftablesMode } from "../../scenarios/setups.ts";
import { Seen } from "../../lib/doctor/showings.ts";
import { commandsOf, examineNode, idsOf } from "../inside/examination.ts";
import { ProofNode, upstreams } from "../inside/proof.ts";
import { summaryOf, Traffic } from "../inside/traffic.ts";
import { tellOutside } from "../outside.ts";

const [ipvs] = ipvsModes;
const foreign = "192.168.1.200";
const vip = clusterIP(50).IPv4;
const VIP_PORT = 9000;
const REST_MS = 10_000;
/** Emulated, more of them leave doctor too little of the processor for the times that it gives a fact. */
const NEW_PER_SECOND = 20;
/** Without it upstream's proxy deletes the server of somebody else at its next sync. */
const others = { excludeCIDRs: [`${foreign}/32`] };

/** Lets in the clients that this test has, and nobody else: to others node ports are closed. */
const hostRules = `table inet host {
  chain in {
    type filter hook input priority 10; policy drop;
    ct state established,related accept
    iifname "lo" accept
    meta l4proto { icmp, ipv6-icmp } accept
    ip saddr { 192.168.0.0/16, ${podCIDRs.IPv4} } accept
    ip6 saddr { fd00:192:168::/48, ${podCIDRs.IPv6} } accept
  }
}
`;

/** What an administrator, keepalived, a CNI plugin and the proxy itself did to the node. */
async function sicken({ cluster, programmer }: ProofNode): Promise<void> {
  const run = (...argv: readonly string[]) => cluster.run("node", argv);
  await run("ip", "link", "add", "vip0", "type", "dummy");
  await run("ip", "address", "add", `${foreign}/32`, "dev", "vip0");
  await run("ipvsadm", "-A", "-t", `${foreign}:8088`, "-s", "rr");
  await run(
    "ipvsadm",
    "-a",
    "-t",
    `${foreign}:8088`,
    "-r",
    `${hostAddresses["pod-b"].IPv4}:8080`,
    "-m",
  );
  await run(
    "iptables-nft",
    "-t",
    "nat",
    "-A",
    "POSTROUTING",
    "-s",
    "10.77.0.0/16",
    "-j",
    "KUBE-MARK-MASQ",
  );
  await cluster.run("node", ["nft", "-f", "-"], hostRules);
  await programmer.put({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "on-the-node", namespace: "shop" },
    spec: {
      clusterIP: clusterIP(77).IPv4,
      externalIPs: [hostAddresses.node.IPv4],
      ports: [{ port: 9777, protocol: "TCP" }],
    },
  });
}

/** A program of the node that listens on the address of a Service alone, until it is disposed. */
function listenOn(node: ProofNode, address: string): AsyncDisposable {
  const script =
    `Deno.listen({ hostname: "${address}", port: ${VIP_PORT} }); setInterval(() => {}, 1e6);`;
  const [program, ...args] = node.cluster.inside("node", [Deno.execPath(), "eval", script]);
  const process = new Deno.Command(program, { args, stdout: "null", stderr: "null" }).spawn();
  return {
    async [Symbol.asyncDispose]() {
      process.kill("SIGKILL");
      await process.status;
    },
  };
}

async function untilListening(node: ProofNode): Promise<void> {
  for (let left = 300; left > 0; left--) {
    const { stdout } = await node.cluster.tryRun("node", ["ss", "-Hltn"]);
    if (stdout.includes(`:${VIP_PORT} `)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`Cannot see anybody listen on port ${VIP_PORT}`);
}

/** Before 6.1 a kernel is an ailment of its own. */
const isOld = /^5\./.test(Deno.osRelease());

/** With no sysctl.d. */
const expected = {
  fail: ["IPV06", "NP03", "NP04", "CO01"],
  warn: ["NET01", "IPV01", "IPV02", "IPV04", "IPV11"],
} as const;
/** Upstream's role does not see Namespaces; an apiserver that is slow here does not say so in time. */
const ofCluster = ["CFG07"] as const;

Deno.test("doctor finds what is wrong under upstream's ipvs mode, what it prints mends it, and the switch costs nothing", async () => {
  await using node = await ProofNode.create();
  const old = await node.start(upstreams(), ipvs, others);
  await sicken(node);
  const listener = listenOn(node, vip);
  await untilListening(node);
  const traffic = await Traffic.start(node.cluster, { newPerSecond: NEW_PER_SECOND });

  const sick = await examineNode(node, "ipvs", others);
  await traffic.look("doctor has looked");
  tellOutside("measured", {
    title: "a sick node",
    fail: idsOf(sick, "fail"),
    warn: idsOf(sick, "warn"),
  });
  const say = () =>
    JSON.stringify([...sick.checks.values()].filter(({ result }) => result !== "pass"));
  assert.deepEqual([...idsOf(sick, "fail")].sort(), [...expected.fail].sort(), say());
  assert.deepEqual(idsOf(sick, "unknown"), [], say());
  const wanted: readonly string[] = [
    ...expected.warn,
    ...ofCluster,
    ...isOld ? ["KRN01", "CT04"] : [],
  ];
  const unexpected = idsOf(sick, "warn").filter((id) => !wanted.includes(id));
  assert.deepEqual(unexpected, [], say());
  for (const id of expected.warn) {
    assert.equal(sick.checks.get(id)?.result, "warn", `${id}: ${say()}`);
  }
  const evidence = (id: string) => sick.checks.get(id)?.evidence.join("\n") ?? "";
  assert.match(evidence("IPV01"), new RegExp(`TCP ${foreign}:8088`));
  assert.match(evidence("IPV02"), /^\d+ established connections$/m);
  assert.match(evidence("IPV06"), new RegExp(`TCP ${vip}:${VIP_PORT} is bound`));
  assert.match(evidence("IPV11"), /shop\/on-the-node has 192\.168\.1\.1/);
  assert.match(evidence("NP03"), /stopped by table inet host, chain in, policy drop/);
  assert.match(evidence("CO01"), /chain POSTROUTING, handle \d+ leads to KUBE-MARK-MASQ/);
  assert.deepEqual([sick.verdict.canMove, sick.verdict.changes], [true, expected.fail.length]);
  assert.equal(sick.code, 1);

  for (const command of commandsOf(sick, "fail")) {
    await node.cluster.run("node", ["sh", "-ec", command]);
  }
  await listener[Symbol.asyncDispose]();
  await using _elsewhere = listenOn(node, "0.0.0.0");
  await untilListening(node);
  const mended = await examineNode(node, "ipvs", others);
  const seen = new Seen("sickNode");
  for (const each of [sick, mended]) seen.add(each.checks.values());
  seen.assertAll();
  assert.deepEqual(idsOf(mended, "fail"), [], JSON.stringify([...mended.checks.values()]));
  assert.deepEqual(mended.verdict, { canMove: true, changes: 0, because: [] });
  assert.equal(mended.code, 0);
  await traffic.look("the commands have run");

  await old[Symbol.asyncDispose]();
  await using _new = await node.start(ourProgram(), nftablesMode);
  await traffic.look("nftables mode has synced");
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  await traffic.look("nftables mode rests");
  const report = await traffic.stop();
  tellOutside("measured", { title: "the switch of a mended node", ...summaryOf(report) });
  assert.deepEqual([report.cut, report.failed], [[], {}]);
  const { kind } = await node.cluster.agent.probe({
    namespace: node.cluster.namespace("client-a"),
    protocol: "TCP",
    address: foreign,
    port: 8088,
    timeoutMs: 15_000,
  });
  assert.equal(kind, "reached", "the virtual server of somebody else");
});

Deno.test("doctor changes nothing under upstream's ipvs mode", async () => {
  await using node = await ProofNode.create();
  await using _proxy = await node.start(upstreams(), ipvs, others);
  await sicken(node);
  const look = async () => {
    const on = (...argv: readonly string[]) => node.cluster.run("node", argv);
    return [
      // Upstream's proxy writes its chains anew each period, so that only what they say stays.
      await on("nft", "list", "ruleset"),
      await on("nft", "-a", "list", "table", "inet", "host"),
      ...await Promise.all(
        ["iptables", "ip6tables"].flatMap((tool) =>
          ["nft", "legacy"].map((engine) => on(`${tool}-${engine}-save`))
        ),
      ),
      (await on("ipvsadm", "-S", "-n")).split("\n").sort().join("\n"),
      (await on("ipset", "save")).split("\n").sort().join("\n"),
      await on("ip", "-d", "link"),
      await on("ip", "address"),
      await on("ip", "rule"),
      await on("ip", "route", "show", "table", "all"),
      await on("sh", "-c", "cd /proc/sys/net && grep -rs . ipv4 ipv6 netfilter | sort"),
      await runCommand([
        "sh",
        "-c",
        "cut -d ' ' -f 1 /proc/modules | sort; ls /run/netns /etc /run",
      ]),
    ].join("\n")
      .replaceAll(/counter packets \d+ bytes \d+/g, "counter")
      .replaceAll(/\[\d+:\d+\]/g, "[]")
      .replaceAll(/^# .*$/gm, "")
      .replaceAll(/^netfilter\/nf_conntrack_count:.*$/gm, "");
  };
  // Upstream's proxy writes again for the new Service.
  let before = await look();
  for (let last = ""; last !== before;) {
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    [last, before] = [before, await look()];
  }
  const told = await examineNode(node, "ipvs", others);
  assert.equal(told.checks.get("DRY01")?.result === "fail", false);
  assert.equal(await look(), before);
});
