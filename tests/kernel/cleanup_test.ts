/** `cleanup`, as a process, on a node that has rules of everybody: what is not a proxy's stays to the byte. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { ipFamilies, type IpFamily } from "../../lib/base/ip_family.ts";
import type { IpsetChange } from "../../lib/kernel/ipset/ipset.ts";
import { ourProgramArgv } from "./rig/our_program.ts";
import { type CommandResult, signalAfter, tryCommand } from "./rig/command.ts";
import { setupsOf } from "../scenarios/setups.ts";
import { ManifestFolder, runArgv } from "./rig/programmers/program.ts";
import { XtNamespace } from "./xtables/namespace.ts";

/** Packet counters of iptables mode's rules. */
const counters = ["ct_state_invalid_dropped_pkts", "localhost_nps_accepted_pkts"];

const backends = ["nft", "legacy"] as const;

/** Long enough for every run to end by itself. */
const LONGEST_RUN_MS = 600;
const kills = Deno.env.get("KUBE_PROXY_TEST_FULL") === undefined ? 3 : 50;

/** Rules of kubelet, Docker, a CNI, another router, and somebody with names like ours. */
const foreign = (family: IpFamily) => {
  const pods = family === "IPv4" ? "10.128.0.0/14" : "fd00:10:128::/48";
  const loopback = family === "IPv4"
    ? '-A KUBE-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8 -m comment --comment "block incoming localnet connections" -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP\n'
    : "";
  return `*mangle
:KUBE-IPTABLES-HINT - [0:0]
:KUBE-KUBELET-CANARY - [0:0]
COMMIT
*nat
:DOCKER - [0:0]
:CNI-MASQ - [0:0]
:KUBE-MARK-DROP - [0:0]
:KUBE-ROUTER-FORWARD - [0:0]
:KUBE-SVC-mine - [0:0]
-A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER
-A OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SVC-mine
-A POSTROUTING -s ${pods} -j CNI-MASQ
-A CNI-MASQ ! -d ${pods} -m comment --comment "flanneld masq" -j MASQUERADE --random-fully
-A DOCKER -i docker0 -j RETURN
-A KUBE-MARK-DROP -j MARK --set-xmark 0x8000/0x8000
COMMIT
*filter
:KUBE-FIREWALL - [0:0]
:KUBE-ROUTER-FORWARD - [0:0]
-A INPUT -j KUBE-FIREWALL
-A OUTPUT -j KUBE-FIREWALL
-A FORWARD -m comment --comment "kube-router netpol" -j KUBE-ROUTER-FORWARD
-A FORWARD -i cni0 -p tcp -m multiport --dports 80,443 -j ACCEPT
${loopback}COMMIT
`;
};

/** Whether this machine's kernel has IPVS now: it decides what `cleanup` remarks. */
function isIpvsLoaded(): boolean {
  return existsSync("/proc/net/ip_vs");
}

/** What upstream's proxy wrote for a small cluster, in this family. */
async function upstreamRules(family: IpFamily): Promise<string> {
  const file = `../peers/recorded/rules/kubernetes-1.37.0.${family.toLowerCase()}.txt`;
  const text = await Deno.readTextFile(new URL(file, import.meta.url));
  const lines = text.split("\n").flatMap((line) => {
    const [, numbers, rule] = /^(\d+) (.*)$/.exec(line) ?? [];
    // The nfacct counters of its rules are not in this namespace; kubelet's chains are above.
    return numbers?.includes("1") && !/nfacct|KUBE-FIREWALL/.test(rule) ? [rule] : [];
  });
  return `${lines.filter((line) => !/^:[A-Z]+ /.test(line)).join("\n")}\n`;
}

/** Names like ours, in other places. */
const foreignTables = `table inet kube-proxy {
  chain c {
    type filter hook input priority 5;
  }
}
table ip kube-proxy-of-others {
  map service-ips {
    type ipv4_addr : verdict;
  }
}
`;

/** Names like ours, of somebody else's sets. */
const foreignSets: readonly IpsetChange[] = [
  { kind: "create", set: { name: "KUBE-mine", type: "bitmap:port" } },
  { kind: "create", set: { name: "KUBE-CLUSTER-IP-of-others", type: "hash:ip", family: "IPv4" } },
  {
    kind: "add-members",
    set: { name: "KUBE-CLUSTER-IP-of-others", type: "hash:ip", family: "IPv4" },
    members: ["172.30.0.1", "172.30.0.2"],
  },
  { kind: "create", set: { name: "cali60all-pools", type: "hash:ip", family: "IPv6" } },
];

/** Sets of ipvs mode. */
const ownSets: readonly IpsetChange[] = [
  { kind: "create", set: { name: "KUBE-CLUSTER-IP", type: "hash:ip,port", family: "IPv4" } },
  { kind: "create", set: { name: "KUBE-6-LOOP-BACK", type: "hash:ip,port,ip", family: "IPv6" } },
];

const ownTable = (ip: string) => `table ${ip} kube-proxy {\n  chain services {\n  }\n}\n`;

function cleanupArgv({ name }: XtNamespace, ...args: readonly string[]): readonly string[] {
  return ["ip", "netns", "exec", name, ...ourProgramArgv(), "cleanup", ...args];
}

interface Node extends AsyncDisposable {
  readonly namespace: XtNamespace;
  /** Everything that there is but for a proxy's, in the words of the tools. */
  state(): Promise<string>;
  cleanup(...args: readonly string[]): Promise<CommandResult>;
}

async function createNode(): Promise<Node> {
  const namespace = await XtNamespace.create();
  const state = async () => {
    const saves = backends.flatMap((backend) =>
      ipFamilies.map((family) => namespace.save({ backend, family }))
    );
    const ruleset = await namespace.run(["nft", "-a", "list", "ruleset"]);
    const settings = await namespace.run([
      "sh",
      "-c",
      "cd /proc/sys/net/ipv4 && grep -rs . . | sort",
    ]);
    return [
      ...await Promise.all(saves),
      ...namespace.savedSets(),
      ruleset.replaceAll(/counter packets \d+ bytes \d+/g, "counter"),
      settings,
    ].join("\n");
  };
  const node: Node = {
    namespace,
    state,
    cleanup: (...args) => tryCommand(cleanupArgv(namespace, ...args)),
    [Symbol.asyncDispose]: () => namespace[Symbol.asyncDispose](),
  };
  try {
    await namespace.run(["ip", "link", "set", "lo", "up"]);
    for (const family of ipFamilies) {
      for (const backend of backends) await namespace.restore(foreign(family), { backend, family });
    }
    await namespace.run(["nft", "-f", "-"], foreignTables);
    await namespace.changeSets(foreignSets);
    return node;
  } catch (error) {
    await node[Symbol.asyncDispose]();
    throw error;
  }
}

async function addProxyRules({ namespace }: Node): Promise<void> {
  for (const family of ipFamilies) {
    const rules = await upstreamRules(family);
    for (const backend of backends) await namespace.restore(rules, { backend, family });
  }
  for (const name of [...counters, "theirs"]) namespace.addCounter(name);
  await namespace.run(["nft", "-f", "-"], ownTable("ip") + ownTable("ip6"));
  await namespace.changeSets(ownSets);
}

Deno.test("cleanup --mode all removes what proxies left in every place, and nothing else", async (test) => {
  await using node = await createNode();
  const before = await node.state();
  await addProxyRules(node);
  const dirty = await node.state();
  assert.notEqual(dirty, before);
  assert.match(dirty, /create KUBE-6-LOOP-BACK/);
  assert.match(before, /add KUBE-CLUSTER-IP-of-others 172\.30\.0\.2/);
  await test.step("--dry-run changes nothing", async () => {
    const transport = node.namespace.transport();
    const generation = await transport.generation();
    const { code, stderr, stdout } = await node.cleanup("--mode=all", "--dry-run");
    assert.equal(code, 0, stderr);
    assert.equal(await transport.generation(), generation);
    assert.match(stdout, /delete set KUBE-6-LOOP-BACK/);
    assert.match(stdout, /delete \d+ chains of table nat \(legacy, IPv6\)/);
    assert.equal(await node.state(), dirty);
  });
  await test.step("what is not a proxy's is byte-identical afterwards", async () => {
    const planned = JSON.parse(
      (await node.cleanup("--mode=all", "--dry-run", "-o", "json")).stdout,
    );
    const ran = await node.cleanup("--mode=all", "-o", "json");
    assert.equal(ran.code, 0, ran.stdout + ran.stderr);
    const done = JSON.parse(ran.stdout);
    for (const [index, { planned: steps }] of planned.modes.entries()) {
      assert.deepEqual(done.modes[index].removed, steps);
    }
    assert.equal(await node.state(), before);
    assert.deepEqual(counters.filter((name) => node.namespace.hasCounter(name)), []);
    assert.ok(node.namespace.hasCounter("theirs"));
  });
  await test.step("a second run has nothing to do", async () => {
    const { code, stdout } = await node.cleanup("--mode=all");
    assert.equal(code, 0);
    const absent = isIpvsLoaded() ? [] : ["  the module ip_vs is not loaded"];
    const lines = ["nftables", "iptables", "ipvs", "userspace"].flatMap((mode) => [
      `${mode} mode: nothing to clean`,
      ...mode === "ipvs" ? absent : [],
    ]);
    assert.equal(stdout, lines.map((line) => `${line}\n`).join(""));
  });
});

Deno.test(`cleanup killed at ${kills} random moments leaves all or nothing of a family, and the next one finishes`, async (test) => {
  await using node = await createNode();
  const { namespace } = node;
  const before = await node.state();
  const chainsLeft = async (family: IpFamily) =>
    (await namespace.save({ family, backend: "nft" })).match(/^:KUBE-SERVICES/gm)?.length ?? 0;
  for (let round = 0; round < kills; round++) {
    const atMs = Math.round(Math.random() * LONGEST_RUN_MS);
    await test.step(`after ${atMs} ms`, async () => {
      await addProxyRules(node);
      const [program, ...args] = cleanupArgv(namespace, "--mode=all");
      const process = new Deno.Command(program, { args, stdout: "null", stderr: "null" }).spawn();
      using _ = signalAfter(process, { signal: "SIGKILL", ms: atMs });
      await process.status;
      for (const family of ipFamilies) {
        const left = await chainsLeft(family);
        assert.ok(left === 0 || left === 2, `${family}: ${left} of 2 tables have their chain`);
      }
      const { code, stderr, stdout } = await node.cleanup("--mode=all");
      assert.equal(code, 0, stdout + stderr);
      assert.equal(await node.state(), before);
    });
  }
});

Deno.test("cleanup keeps a chain that others lead to, empty, and names the rule", async () => {
  await using node = await createNode();
  const { namespace } = node;
  await addProxyRules(node);
  await namespace.restore(
    "*nat\n:KUBE-HP-X - [0:0]\n-A KUBE-HP-X -p tcp -m multiport --dports 1,2 -j KUBE-MARK-MASQ\nCOMMIT\n",
    { family: "IPv4" },
  );
  const ran = await node.cleanup("--mode=iptables");
  assert.equal(ran.code, 0, ran.stdout + ran.stderr);
  assert.match(
    ran.stdout,
    /keep chain KUBE-MARK-MASQ of table nat \(nft, IPv4\), empty: a rule of chain KUBE-HP-X that is not kube-proxy's/,
  );
  const saved = await namespace.save({ family: "IPv4", table: "nat" });
  assert.match(saved, /^:KUBE-MARK-MASQ -/m);
  assert.match(saved, /-j KUBE-MARK-MASQ$/m);
  assert.doesNotMatch(saved, /-A KUBE-MARK-MASQ|KUBE-SERVICES/);
});

Deno.test("iptables mode and its cleanup leave route_localnet as it was", async () => {
  await using node = await createNode();
  const { namespace } = node;
  await using folder = await ManifestFolder.create([]);
  const setting = "/proc/sys/net/ipv4/conf/all/route_localnet";
  const read = async () => (await namespace.run(["cat", setting])).trim();
  const before = await node.state();
  const [setup] = setupsOf({ kind: "iptables", backend: "nft" });
  const argv = runArgv(folder, { ...setup, nodePortAddresses: "all" });
  const [program, ...args] = ["ip", "netns", "exec", namespace.name, ...argv, "--once"];
  for (const run of ["the first", "the second, which finds it set"]) {
    const { code, stderr } = await tryCommand([program, ...args]);
    assert.equal(code, 0, `${run}: ${stderr}`);
    assert.equal(await read(), "1");
  }
  const { code, stdout } = await node.cleanup("--mode=iptables");
  assert.equal(code, 0, stdout);
  assert.match(stdout, /set sysctl net\.ipv4\.conf\.all\.route_localnet=0/);
  assert.equal(await node.state(), before);
  await namespace.run(["sh", "-c", `echo 1 >${setting}`]);
  await tryCommand([program, ...args]);
  const kept = await node.cleanup("--mode=iptables");
  assert.match(kept.stdout, /route_localnet stays 1, .*: what it was before is not known/);
  assert.equal(await read(), "1");
});
