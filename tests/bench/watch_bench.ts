/**
 * What iptables mode spends on looking for edits of others, at rest and beside software that commits
 * all the time, and how long such edits cut connections. Ours alone: upstream's finds a flushed table
 * within its sync period, and the rest with the next change.
 *   scripts/bench watch [--services=5000] [--seconds=30] [--edits=5] --mode=iptables [--backend=nft|legacy]
 */
import { parseArgs } from "node:util";
import { jumpOf, type XtChange, type XtRule } from "../../lib/kernel/xtables/rules.ts";
import { NftXtables } from "../../lib/kernel/xtables/nft_xtables.ts";
import type { Xtables } from "../../lib/kernel/xtables/xtables.ts";
import { podAddresses, SmallCluster, untilAnsweredBy } from "../controlplane/rig/small_cluster.ts";
import { XtNamespace } from "../kernel/xtables/namespace.ts";
import { nameOfMode } from "../scenarios/setups.ts";
import {
  BulkCluster,
  type Canary,
  contenders,
  ruleModeOf,
  startContender,
} from "./cluster_subject.ts";
import { formatMs, formatTable, percentile, print } from "./table.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    services: { type: "string", default: "5000" },
    seconds: { type: "string", default: "30" },
    edits: { type: "string", default: "5" },
    mode: { type: "string", default: "iptables" },
    backend: { type: "string", default: "nft" },
  },
});
const ENDPOINTS = 10;
const START_DEADLINE_MS = 180_000;
const REPAIR_DEADLINE_MS = 120_000;
/** Longer than it may take until edits are looked for again. */
const BETWEEN_EDITS_MS = 3_000;
const mode = ruleModeOf(values);
const isNft = nameOfMode(mode) === "iptables (nft)";

/** What the neighbour does, and undoes the next time. */
interface Neighbour {
  readonly title: string;
  readonly everyMs: number;
  readonly turns: readonly [readonly string[], readonly string[]];
}

const ownRule = (action: string, table: string) => [
  ...["iptables-legacy", "-w", "5", "-t", table, action, "OUTPUT"],
  ...["-d", "192.0.2.1", "-j", "ACCEPT"],
];

const neighbours: readonly Neighbour[] = isNft
  ? [
    {
      title: "a commit to a table of their own each 100 ms",
      everyMs: 100,
      turns: [["nft", "add table ip neighbour"], ["nft", "delete table ip neighbour"]],
    },
    {
      title: "a rule in nat each second",
      everyMs: 1_000,
      turns: [
        ["nft", "add rule ip nat OUTPUT ip daddr 192.0.2.1 accept"],
        ["nft", "add rule ip nat OUTPUT ip daddr 192.0.2.2 accept"],
      ],
    },
  ]
  : [
    {
      title: "a rule in mangle each 100 ms",
      everyMs: 100,
      turns: [ownRule("-A", "mangle"), ownRule("-D", "mangle")],
    },
    {
      title: "a rule in nat each second",
      everyMs: 1_000,
      turns: [ownRule("-A", "nat"), ownRule("-D", "nat")],
    },
  ];

/** Processor time of one core in percent, while the neighbour does its work. */
async function share(
  cluster: SmallCluster,
  cpuSeconds: () => number,
  neighbour?: Neighbour,
): Promise<number> {
  const before = cpuSeconds();
  const startedAt = performance.now();
  const end = startedAt + Number(values.seconds) * 1_000;
  await work(cluster, () => performance.now() >= end, neighbour);
  return 100_000 * (cpuSeconds() - before) / (performance.now() - startedAt);
}

/** The neighbour does its work until the end. */
async function work(
  cluster: SmallCluster,
  isOver: () => boolean,
  neighbour?: Neighbour,
): Promise<void> {
  for (let i = 0; !isOver(); i++) {
    const due = performance.now() + (neighbour?.everyMs ?? 1_000);
    if (neighbour) await cluster.onNode(neighbour.turns[i % 2]);
    await sleep(due - performance.now());
  }
}

/** What somebody does to the rules of one canary. */
type Edit = (path: ServicePath) => readonly XtChange[];

/** The rules that a connection to a canary meets. */
interface ServicePath {
  readonly frontend: XtRule;
  readonly endpointChain: string;
  readonly endpointRules: readonly XtRule[];
}

const nat = { table: "nat" } as const;
const flush: Edit = () => [{ kind: "flush-chain", ...nat, chain: "KUBE-SERVICES" }];
const edits: readonly (readonly [
  title: string,
  edit: Edit,
  promisedMs: number,
  beside?: Neighbour,
])[] = [
  ["a shared chain is flushed", flush, 5_000],
  ["the same beside a rule in nat each second", flush, 5_000, neighbours[1]],
  [
    "one rule is deleted",
    ({ frontend }) => [{
      kind: "delete-rule",
      ...nat,
      chain: "KUBE-SERVICES",
      rule: frontend,
    }],
    5_000,
  ],
  [
    "one rule is replaced",
    ({ endpointChain: chain, endpointRules }) => [
      { kind: "flush-chain", ...nat, chain },
      ...endpointRules.map((rule): XtChange => ({
        kind: "append-rule",
        ...nat,
        chain,
        rule: rule.target?.kind === "dnat"
          ? { ...rule, target: { ...rule.target, address: podAddresses.b.IPv4 } }
          : rule,
      })),
    ],
    60_000,
  ],
];

async function pathTo(xtables: Xtables, { clusterIP }: Canary): Promise<ServicePath> {
  const reading = await xtables.read("IPv4", ["nat"]);
  const rulesOf = async (chain: string) =>
    ((await reading.rules("nat", [chain])).get(chain) ?? [])
      .flatMap(({ rule }) => rule ? [rule] : []);
  const frontend = (await rulesOf("KUBE-SERVICES"))
    .find(({ destination }) => destination?.cidr === `${clusterIP}/32`);
  const service = frontend && await rulesOf(jumpOf(frontend) ?? "");
  const endpointChain = service?.map(jumpOf).find((chain) => chain?.startsWith("KUBE-SEP-"));
  if (!frontend || endpointChain === undefined) {
    throw new Error(`Cannot edit the rules of ${clusterIP}: they are not there`);
  }
  return { frontend, endpointChain, endpointRules: await rulesOf(endpointChain) };
}

async function repairs(xtables: Xtables, canary: Canary, edit: Edit): Promise<readonly number[]> {
  const tookMs: number[] = [];
  for (let i = 0; i < Number(values.edits); i++) {
    await sleep(BETWEEN_EDITS_MS);
    await xtables.commit("IPv4", edit(await pathTo(xtables, canary)));
    const deadlineMs = REPAIR_DEADLINE_MS;
    tookMs.push(await untilAnsweredBy("a", canary.clusterIP, { deadlineMs, pauseMs: 10 }));
  }
  return tookMs;
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, milliseconds)));
}

await using cluster = await SmallCluster.create();
const bulk = new BulkCluster({ services: Number(values.services), endpoints: ENDPOINTS });
await cluster.api.createAll(bulk.objects());
await using node = XtNamespace.of(cluster.node);
const xtables = isNft ? new NftXtables(node.transport()) : node.legacy();
const [ours] = contenders("ours");
const { process, stop } = await startContender(cluster, ours, mode);
try {
  for (const { clusterIP } of bulk.canaries) {
    await untilAnsweredBy("a", clusterIP, { deadlineMs: START_DEADLINE_MS, pauseMs: 50 });
  }
  await sleep(5_000);
  const cpuSeconds = () => process.usage().cpuSeconds;
  const shares: [string, number][] = [["nothing", await share(cluster, cpuSeconds)]];
  for (const neighbour of neighbours) {
    shares.push([neighbour.title, await share(cluster, cpuSeconds, neighbour)]);
  }
  print(`## ${values.services} Services x ${ENDPOINTS}, ${nameOfMode(mode)}\n`);
  print(formatTable(
    [{ title: "what others do" }, { title: "CPU, % of a core", right: true }, {
      title: "promised",
    }],
    shares.map(([title, percent]) => [title, percent.toFixed(1), "≤ 5"]),
  ));
  const rows: string[][] = [];
  for (const [title, edit, promisedMs, beside] of edits) {
    let isOver = beside === undefined;
    const [tookMs] = await Promise.all([
      repairs(xtables, bulk.canaries[1], edit).finally(() => isOver = true),
      work(cluster, () => isOver, beside),
    ]);
    rows.push([
      title,
      String(tookMs.length),
      formatMs(percentile(tookMs, 0.5)),
      formatMs(Math.max(...tookMs)),
      `≤ ${promisedMs}`,
    ]);
  }
  const columns = ["edit", "times", "repaired p50, ms", "slowest, ms", "promised"];
  print(`\n${formatTable(columns.map((title, i) => ({ title, right: i > 0 })), rows)}`);
} finally {
  await stop();
}
