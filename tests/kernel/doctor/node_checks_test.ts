/**
 * The checks on this machine's kernel: the program as a process in a network namespace that is a node,
 * well and sick, and the commands that it prints, run as they are printed.
 */
import assert from "node:assert/strict";
import { hasLockedUp } from "../rig/kernel_log.ts";
import { ourProgramArgv } from "../rig/our_program.ts";
import { type OwnNamespace, withOwnNamespace } from "../rig/own_namespace.ts";
import { tryCommand } from "../rig/command.ts";
import { Seen } from "../../lib/doctor/showings.ts";

const seen = new Seen("nodeChecks");

interface Told {
  readonly id: string;
  readonly result: string;
  readonly subject: string;
  readonly evidence: readonly string[];
  readonly advice: readonly string[];
}

const manifests = `
apiVersion: v1
kind: Node
metadata: { name: node-a }
status: { addresses: [ { type: InternalIP, address: 192.168.1.1 } ] }
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec:
  type: LoadBalancer
  clusterIP: 172.30.0.10
  clusterIPs: [ 172.30.0.10 ]
  externalTrafficPolicy: Local
  healthCheckNodePort: 31234
  ports: [ { port: 80, nodePort: 30080 } ]
`;

/** Those that look at what this test sets up. */
const ids = [
  ...["KRN01", "KRN02", "KRN03", "KRN04", "KRN05", "KRN06", "KRN07", "CT01", "CT02", "CT03"],
  ...["CT04", "NET01", "NET02", "NET03", "NET04", "NET05", "IPV02", "IPV06", "IPV07", "NP01"],
  ...["NP03", "NP04", "NP06", "CO01", "CO02", "CO03", "CO04", "CO15", "CO16"],
];

async function examine(
  { name }: OwnNamespace,
  only: readonly string[] = ids,
): Promise<ReadonlyMap<string, Told>> {
  const argv = [
    ...["ip", "netns", "exec", name, ...ourProgramArgv(), "doctor", "-o", "json"],
    ...["--from", "ipvs", "--manifests", "-", "--node", "node-a", "--only", only.join(",")],
  ];
  const { code, stderr, stdout } = await tryCommand(argv, manifests);
  assert.ok(code === 0 || code === 1 || code === 2, stderr);
  const { checks } = JSON.parse(stdout) as { readonly checks: readonly Told[] };
  seen.add(checks);
  return new Map(checks.map((each) => [each.id, each]));
}

/** A node with two addresses, and a client's side that nobody needs. */
async function addLinks({ run }: OwnNamespace): Promise<void> {
  for (const [link, address] of [["eth0", "192.168.1.1/24"], ["eth1", "10.9.0.1/24"]]) {
    await run("ip", "link", "add", link, "type", "veth", "peer", "name", `${link}p`);
    await run("ip", "addr", "add", address, "dev", link);
    await run("ip", "link", "set", link, "up");
  }
}

const results = (told: ReadonlyMap<string, Told>) =>
  Object.fromEntries([...told].map(([id, { result }]) => [id, result]));

Deno.test("doctor finds nothing on a node that is well, but what its kernel and two addresses mean", async () => {
  await withOwnNamespace(async (node) => {
    await addLinks(node);
    await node.run("sysctl", "-qw", "net.ipv4.ip_forward=1");
    const told = await examine(node);
    const { KRN01, KRN06, KRN07, NET01, NP01, ...others } = results(told);
    // A namespace of a test is not the node's first one; a container cannot even see that.
    const { NET05, ...rest } = others;
    assert.match(NET05, /^(fail|unknown)$/);
    assert.match(`${KRN01} ${KRN06}`, /^(pass|warn) (pass|warn)$/);
    assert.match(KRN07, await hasLockedUp() ? /^(pass|warn)$/ : /^pass$/);
    assert.equal(NET01, "warn");
    assert.equal(NP01, "warn");
    const bad = Object.entries(rest).filter(([, result]) => result !== "pass");
    assert.deepEqual(bad, [], JSON.stringify(bad.map(([id]) => told.get(id))));
    assert.ok(told.get("NP01")?.evidence.includes("They stop answering on 10.9.0.1 (eth1)"));
    assert.match(told.get("KRN03")?.evidence.join() ?? "", /takes every expression/);
  });
});

const rules = `
table inet host {
  chain in { type filter hook input priority 0; policy drop; ct state established,related accept; }
}
table ip early {
  chain pre { type nat hook prerouting priority -101; ip daddr 203.0.113.1 accept; }
}
table ip6 kube-proxy { }
`;
const iptablesRules = `*nat
:POSTROUTING ACCEPT [0:0]
:KUBE-MARK-MASQ - [0:0]
:KUBE-SVC-AAAAAAAAAAAAAAAA - [0:0]
-A POSTROUTING -s 10.1.0.0/16 -j KUBE-MARK-MASQ
-A POSTROUTING -s 10.3.0.0/16 -j SNAT --to-source 172.30.0.10
-A POSTROUTING -s 10.4.0.0/16 -j SNAT --to-source 192.168.1.1
COMMIT
*mangle
:FORWARD ACCEPT [0:0]
-A FORWARD -s 10.2.0.0/16 -j MARK --set-xmark 0x4000/0x4000
COMMIT
`;
const legacyRules = `*nat
:POSTROUTING ACCEPT [0:0]
-A POSTROUTING -s 10.5.0.0/16 -j MASQUERADE
-A POSTROUTING -s 10.6.0.0/16 -j SNAT --to-source 172.30.0.10
COMMIT
*filter
:INPUT ACCEPT [0:0]
-A INPUT -p udp -m udp --dport 53 -j ACCEPT
COMMIT
`;

async function feed({ name }: OwnNamespace, argv: readonly string[], input: string): Promise<void> {
  const { code, stderr } = await tryCommand(["ip", "netns", "exec", name, ...argv], input);
  assert.equal(code, 0, stderr);
}

/** Processes that end with the test. */
function pretend({ name }: OwnNamespace, script: string): Deno.ChildProcess {
  return new Deno.Command("ip", {
    args: ["netns", "exec", name, "bash", "-c", script],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
}

async function listener(node: OwnNamespace, port: number): Promise<Deno.TcpListener> {
  // A socket stays in the namespace in which it was opened.
  return await Promise.resolve(
    node.inside(() => Deno.listen({ hostname: "0.0.0.0", port })),
  );
}

Deno.test("doctor finds each thing that is wrong with a sick node, and what it prints mends it", async () => {
  await withOwnNamespace(async (node) => {
    await addLinks(node);
    await node.run("sysctl", "-qw", "net.ipv4.conf.all.route_localnet=1");
    await node.run("ip", "rule", "add", "from", "172.30.0.10", "lookup", "100", "priority", "77");
    await node.run("ip", "route", "add", "10.8.0.0/16", "via", "192.168.1.9", "table", "100");
    await feed(node, ["nft", "-f", "-"], rules);
    await feed(node, ["iptables-nft-restore", "--noflush"], iptablesRules);
    await feed(node, ["iptables-legacy-restore"], legacyRules);
    const proxies = [1, 2].map(() => pretend(node, "exec -a kube-proxy sleep 300"));
    using stranger = await listener(node, 10_256);
    try {
      const told = await examine(node);
      const found = results(told);
      const evidence = (id: string) => told.get(id)?.evidence.join("\n") ?? "";
      for (const id of ["NP03", "NP04", "CO01", "CO15"]) assert.equal(found[id], "fail", id);
      for (const id of ["IPV07", "NET03", "NP01", "CO02", "CO03", "CO04", "CO16"]) {
        assert.equal(found[id], "warn", id);
      }
      assert.match(
        evidence("NP03"),
        /TCP 30080 .* stopped by table inet host, chain in, policy drop/,
      );
      assert.match(evidence("NP04"), /TCP 31234/);
      assert.match(evidence("NP04"), /TCP 10256/);
      assert.match(evidence("CO01"), /chain POSTROUTING, handle \d+ leads to KUBE-MARK-MASQ/);
      assert.match(evidence("CO02"), /table ip mangle, chain FORWARD/);
      assert.match(evidence("CO03"), /table ip early, chain pre: nat on prerouting at -101/);
      assert.match(evidence("CO04"), /iptables-legacy has rules in table nat, filter|table filter/);
      assert.deepEqual(told.get("IPV07")?.evidence.map((each) => each.replace(/handle \d+/, "")), [
        "ip rule 77: from 172.30.0.10/32 lookup 100",
        "table ip nat, chain POSTROUTING, ",
        "iptables-legacy nat, chain POSTROUTING, rule 2",
      ]);
      assert.match(evidence("CO15"), /2 proxies run in this network/);
      // The table of nftables mode passes for that of the proxies, which do not tell their mode.
      assert.equal(evidence("CO16"), "1 chain in table ip nat");

      for (const id of ["NP03", "NP04", "NET03"]) {
        for (const line of told.get(id)?.advice ?? []) await node.run("sh", "-c", line);
      }
      const after = results(await examine(node, ["NP03", "NP04", "NET03"]));
      assert.deepEqual(after, { NP03: "pass", NP04: "pass", NET03: "pass" });
    } finally {
      for (const proxy of proxies) {
        proxy.kill("SIGKILL");
        await proxy.status;
      }
      stranger.close();
    }
  });
});

/** What tells nothing of the node's files, processes and network: the kernel is the same everywhere. */
const needsNoNode = /^(KRN0[137]|IPV04|IPV05|IPV10|CFG\d+)$/;

Deno.test("doctor takes nothing for well where the node's root is not mounted, and says what gives it", async () => {
  const empty = await Deno.makeTempDir();
  try {
    await withOwnNamespace(async ({ name }) => {
      const argv = ["ip", "netns", "exec", name, ...ourProgramArgv(), "doctor", "-o", "json"];
      const { code, stdout } = await tryCommand([...argv, "--no-cluster", "--host-root", empty]);
      const { checks, verdict } = JSON.parse(stdout) as {
        readonly checks: readonly Told[];
        readonly verdict: { readonly canMove: boolean | null };
      };
      const well = checks.filter(({ id, result }) => result === "pass" && !needsNoNode.test(id));
      assert.deepEqual(well, []);
      assert.deepEqual([verdict.canMove, code], [null, 2]);
      const { advice, evidence } = checks.find(({ id }) => id === "IPV02") ?? {};
      assert.deepEqual(evidence, [`"${empty}/proc/1" is not there`]);
      assert.match(advice?.join() ?? "", /^Mount the node's root at .*hostPID: true/);
    });
  } finally {
    await Deno.remove(empty);
  }
});

Deno.test("these tests saw all that docs/doctor.md says they show", async () => {
  seen.assertAll(await hasLockedUp() ? ["KRN07 pass"] : []);
});
