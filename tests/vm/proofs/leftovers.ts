/**
 * ipvs mode's leftovers beside other modes: which packets still meet them before the cleanup, and that
 * a cleanup under the traffic of others harms none of it. `docs/cleanup.md` has the figures.
 */
import assert from "node:assert/strict";
import { ourProgram } from "../../controlplane/rig/proxy_process.ts";
import type { Cluster } from "../../kernel/rig/cluster.ts";
import { type Pair, takeOver } from "../../kernel/rig/mode_pairs.ts";
import { leaveOldRules, leaveUpstreamsRules, type OldRules } from "../../kernel/rig/old_rules.ts";
import { ourProgramArgv } from "../../kernel/rig/our_program.ts";
import { createShopCluster } from "../../kernel/rig/shop_cluster.ts";
import { hostAddresses } from "../../scenarios/addresses.ts";
import {
  iptablesModes,
  ipvsModes,
  nameOfMode,
  nftablesMode,
  type RuleMode,
} from "../../scenarios/setups.ts";
import { GuestPlane } from "../inside/guest_plane.ts";
import { ProofNode } from "../inside/proof.ts";
import { summaryOf, Traffic } from "../inside/traffic.ts";
import { tellOutside } from "../outside.ts";

const isFull = Deno.env.get("KUBE_PROXY_TEST_FULL") !== undefined;
const [ipvs] = ipvsModes;
const [iptables, iptablesLegacy] = iptablesModes;
const left = (mode: RuleMode): OldRules => ({ by: "us", mode });

/** One mode over what another one left. */
interface TriedPair extends Pair {
  readonly by: "us" | "upstream";
  /** In `full` alone. */
  readonly isLong?: boolean;
}

/** Addresses of Services are on the link still, and virtual servers behind them. */
const besideIpvs = [
  {
    fates: / -> \S+ (external|load-balancer)-ip:9999 /,
    said: /ports of external and load balancer addresses that no Service has/,
  },
  {
    fates: /^IPv. node -> internal-local-\S+ cluster-ip:/,
    said: /what this node itself sends to a Service whose internalTrafficPolicy is Local/,
  },
];
const outOfIpvs = {
  old: left(ipvs),
  now: nftablesMode,
  most: 5,
  isUnsafe: true,
  differences: besideIpvs,
} as const;

/** Where a packet is routed to, and IPVS, decide before any rule that iptables mode may have. */
const ipvsToIptables = {
  by: "us",
  old: left(ipvs),
  most: 20,
  isUnsafe: true,
  isLong: true,
  differences: [
    {
      fates: /^IPv. \S+ -> \S+ \S+-ip:(9999|81) /,
      said: /ports of Services' addresses that no Service has are refused by this node/,
    },
    {
      fates: /^IPv. node -> (internal-local-remote|empty|ranges) /,
      said: /what this node itself sends to a Service that would drop or not take it/,
    },
    {
      fates: /^IPv. \S+ -> gone cluster-ip:80 /,
      said: /cluster IPs without endpoints that this node has on another link as well/,
    },
  ],
} as const;

const pairs: readonly TriedPair[] = [
  { ...outOfIpvs, by: "upstream" },
  { ...outOfIpvs, by: "us", isLong: true },
  { ...ipvsToIptables, now: iptables },
  { ...ipvsToIptables, now: iptablesLegacy },
  { by: "us", old: left(nftablesMode), now: ipvs, most: 0, isLong: true },
  { by: "us", old: left(iptables), now: ipvs, most: 0, isLong: true },
  { by: "us", old: left(iptablesLegacy), now: ipvs, most: 0, isLong: true },
];

for (const pair of pairs.filter(({ isLong }) => isFull || !isLong)) {
  const { by, now, old } = pair;
  const mode = old.by === "us" ? nameOfMode(old.mode) : old.by;
  const title = `${nameOfMode(now)} over what ${mode} of ${by} left`;
  Deno.test(title, async (test) => {
    await using cluster = await createShopCluster();
    if (by === "us") await leaveOldRules(cluster, old);
    else await leaveUpstreamsRules(cluster, [ipvs], await GuestPlane.open());
    const different: string[] = [];
    const onDifferent = (names: readonly string[]) => void different.push(...names);
    await takeOver(cluster, { ...pair, onDifferent }, test);
    tellOutside("measured", { title, different });
  });
}

const cleanups = [[ipvs, iptables], [iptables, ipvs]] as const;

for (const [from, to] of isFull ? cleanups : cleanups.slice(0, 1)) {
  Deno.test(`${from.kind} mode is cleaned up under ${to.kind} mode's traffic, and another's virtual server answers`, async () => {
    await using node = await ProofNode.create();
    await addForeignServer(node.cluster);
    await (await node.start(ourProgram(), from))[Symbol.asyncDispose]();
    await using _new = await node.start(ourProgram(), to);
    const traffic = await Traffic.start(node.cluster);
    await node.cluster.run("node", [...ourProgramArgv(), "cleanup", `--mode=${from.kind}`]);
    await traffic.look("cleanup has ended");
    const report = await traffic.stop();
    tellOutside("measured", {
      title: `${from.kind} cleaned up under ${to.kind}`,
      ...summaryOf(report),
    });
    // Its own connections come from the address that they go to while the link has it, and end with it, also
    // those that are being opened.
    const isSpared = (each: string) => from.kind !== "ipvs" || !/(^|: )node -> /.test(each);
    const failed = Object.keys(report.failed).filter(isSpared);
    assert.deepEqual([report.cut.filter(isSpared), failed], [[], []]);
    assert.equal(await askForeignServer(node.cluster), "reached");
  });
}

const foreign = { address: "192.168.1.200", port: 8088 } as const;

/** As keepalived makes them: an address of its own on a link of its own. */
async function addForeignServer(cluster: Cluster): Promise<void> {
  const service = `${foreign.address}:${foreign.port}`;
  const endpoint = `${hostAddresses["pod-b"].IPv4}:8080`;
  await cluster.run("node", ["ip", "link", "add", "vip0", "type", "dummy"]);
  await cluster.run("node", ["ip", "address", "add", `${foreign.address}/32`, "dev", "vip0"]);
  await cluster.run("node", ["ipvsadm", "-A", "-t", service, "-s", "rr"]);
  await cluster.run("node", ["ipvsadm", "-a", "-t", service, "-r", endpoint, "-m"]);
  assert.equal(await askForeignServer(cluster), "reached");
}

async function askForeignServer(cluster: Cluster): Promise<string> {
  const { kind } = await cluster.agent.probe({
    namespace: cluster.namespace("client-a"),
    protocol: "TCP",
    timeoutMs: 15_000,
    ...foreign,
  });
  return kind;
}
