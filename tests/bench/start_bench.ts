/**
 * A proxy's start on a node of a large cluster, its rest, a storm of changes and its restart, ours and
 * upstream's one after the other on the same control plane.
 *   scripts/bench start [--services=10000] [--endpoints=10] [--storm-seconds=30] [--only=ours]
 *                       [--mode=nftables|iptables] [--backend=nft|legacy] [--part=load|restart|pairs]
 * A part of it alone is for those who cannot wait: upstream takes minutes for each in iptables' nft
 * backend. Before a restart alone ours writes the rules, which are the same. `pairs` is ours alone: starts,
 * and restarts over what each of them wrote, with the same objects; after a storm a restart finds
 * endpoints in other places than a start puts them.
 */
import { parseArgs } from "node:util";
import { inNetworkNamespace } from "../../lib/kernel/netns.ts";
import { DirectTransport } from "../../lib/kernel/nf_tables/direct_transport.ts";
import type { ProxyProcess } from "../controlplane/rig/proxy_process.ts";
import { SmallCluster, untilAnsweredBy } from "../controlplane/rig/small_cluster.ts";
import {
  BulkCluster,
  type Contender,
  contenders,
  ruleModeOf,
  startContender,
} from "./cluster_subject.ts";
import { nameOfMode } from "../scenarios/setups.ts";
import { FamilyMemory } from "./family_memory.ts";
import { formatMs, formatRatio, formatTable, percentile, print } from "./table.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    services: { type: "string", default: "10000" },
    endpoints: { type: "string", default: "10" },
    "storm-seconds": { type: "string", default: "30" },
    "rest-seconds": { type: "string", default: "20" },
    only: { type: "string", default: "" },
    mode: { type: "string", default: "nftables" },
    backend: { type: "string", default: "nft" },
    part: { type: "string", default: "" },
  },
});
/** Upstream takes minutes for a large cluster in iptables' nft backend. */
const START_DEADLINE_MS = 900_000;
const mode = ruleModeOf(values);
const STORM_WRITES_PER_SECOND = 50;
const CANARY_EVERY_MS = 250;
const PAIRS = 9;
/** Whoever has something to write after a start does so by then. */
const AT_REST_MS = 5_000;

/** One figure of each contender, with what we promise of it in each of `promisedIn`. */
interface Line {
  readonly title: string;
  readonly promises: readonly [nftables: string, nft: string, legacy: string];
  readonly ratio: "theirs ÷ ours" | "ours ÷ theirs";
  readonly figure: keyof Figures;
}

interface Figures {
  readonly startMs: number;
  readonly startCpuMs: number;
  readonly receivedMb: number;
  readonly peakMb: number;
  readonly familyPeakMb: number;
  readonly restMb: number;
  readonly stormCpuMs: number;
  readonly stormP50Ms: number;
  readonly stormP99Ms: number;
  readonly restartMs: number;
  readonly restartCpuMs: number;
  readonly restartPeakMb: number;
}

const promisedIn = ["nftables", "iptables (nft)", "iptables (legacy)"];

const lines: readonly Line[] = [
  {
    title: "start to last VIP, ms",
    promises: ["≥ 10", "≥ 40", "≥ 1"],
    ratio: "theirs ÷ ours",
    figure: "startMs",
  },
  {
    title: "restart to a change's effect, ms",
    promises: ["≥ 15, ours ≤ 1000 ms", "≥ 60", "≥ 2"],
    ratio: "theirs ÷ ours",
    figure: "restartMs",
  },
  {
    title: "CPU of the restart, ms",
    promises: ["ours ≤ the start's", "", ""],
    ratio: "theirs ÷ ours",
    figure: "restartCpuMs",
  },
  {
    title: "CPU of the start, ms",
    promises: ["≥ 5", "≥ 1", ""],
    ratio: "theirs ÷ ours",
    figure: "startCpuMs",
  },
  {
    title: "peak RSS, MB",
    promises: ["≤ 1", "≤ 1", ""],
    ratio: "ours ÷ theirs",
    figure: "peakMb",
  },
  {
    title: "peak RSS with its children, MB",
    promises: ["", "≤ 1", ""],
    ratio: "ours ÷ theirs",
    figure: "familyPeakMb",
  },
  {
    title: "peak RSS of the restart, MB",
    promises: ["ours ≤ the start's", "", ""],
    ratio: "ours ÷ theirs",
    figure: "restartPeakMb",
  },
  {
    title: "RSS at rest, MB",
    promises: ["≤ 0.6", "", ""],
    ratio: "ours ÷ theirs",
    figure: "restMb",
  },
  {
    title: "received, MB",
    promises: ["≤ 1", "", ""],
    ratio: "ours ÷ theirs",
    figure: "receivedMb",
  },
  {
    title: "CPU of the storm, ms",
    promises: ["≥ 6", "≥ 1", ""],
    ratio: "theirs ÷ ours",
    figure: "stormCpuMs",
  },
  {
    title: "canary in the storm p50, ms",
    promises: ["", "", ""],
    ratio: "theirs ÷ ours",
    figure: "stormP50Ms",
  },
  {
    title: "canary in the storm p99, ms",
    promises: ["ours ≤ 20 ms", "≥ 3", ""],
    ratio: "theirs ÷ ours",
    figure: "stormP99Ms",
  },
];

async function measure(cluster: SmallCluster, subject: Subject): Promise<Partial<Figures>> {
  const load = values.part === "restart" ? {} : await measureLoad(cluster, subject);
  const restart = values.part === "load" ? {} : await measureRestart(cluster, subject);
  await cluster.deleteRules(mode);
  return { ...load, ...restart };
}

interface Subject {
  readonly bulk: BulkCluster;
  readonly contender: Contender;
}

async function measureLoad(cluster: SmallCluster, { bulk, contender }: Subject) {
  await countReceived(cluster);
  const { process, stop } = await startContender(cluster, contender, mode);
  try {
    const started = await measureStart(cluster, { bulk, process });
    return { ...started, ...await measureStorm(cluster, { bulk, process }) };
  } finally {
    await stop();
  }
}

interface Running {
  readonly bulk: BulkCluster;
  readonly process: ProxyProcess;
}

async function measureStart(cluster: SmallCluster, { bulk, process }: Running) {
  using memory = new FamilyMemory(process.pid);
  const startedAt = performance.now();
  for (const canary of bulk.canaries) {
    await untilAnsweredBy("a", canary.clusterIP, { deadlineMs: START_DEADLINE_MS, pauseMs: 10 });
  }
  const startMs = performance.now() - startedAt;
  await sleep(2_000);
  const { cpuSeconds } = process.usage();
  const receivedMb = await received(cluster) / 1e6;
  await sleep(Number(values["rest-seconds"]) * 1_000);
  const { peakMb, residentMb: restMb } = process.usage();
  const familyPeakMb = memory.peakMb;
  return { startMs, startCpuMs: cpuSeconds * 1_000, receivedMb, peakMb, restMb, familyPeakMb };
}

async function measureStorm(cluster: SmallCluster, { bulk, process }: Running) {
  const before = process.usage().cpuSeconds;
  const end = performance.now() + Number(values["storm-seconds"]) * 1_000;
  let isOver = false;
  const samplesMs: number[] = [];
  const write = async () => {
    const startedAt = performance.now();
    for (let step = 0; !isOver; step++) {
      await cluster.api.update(bulk.changedSlice(step));
      const due = startedAt + (step + 1) * 1_000 / STORM_WRITES_PER_SECOND;
      if (due > performance.now()) await sleep(due - performance.now());
    }
  };
  const writing = write();
  for (let i = 0; performance.now() < end; i++) {
    const canary = bulk.canaries[i % bulk.canaries.length];
    const pod = Math.floor(i / bulk.canaries.length) % 2 === 0 ? "b" : "a";
    await cluster.api.update(bulk.canarySlice(canary, pod));
    samplesMs.push(await untilAnsweredBy(pod, canary.clusterIP));
    await sleep(CANARY_EVERY_MS);
  }
  isOver = true;
  await writing;
  const stormCpuMs = (process.usage().cpuSeconds - before) * 1_000;
  for (const canary of bulk.canaries) await cluster.api.update(bulk.canarySlice(canary, "a"));
  await untilAnsweredBy("a", bulk.canaries[0].clusterIP);
  return {
    stormCpuMs,
    stormP50Ms: percentile(samplesMs, 0.5),
    stormP99Ms: percentile(samplesMs, 0.99),
  };
}

/**
 * With the rules of the last run in place, or of one of ours. Whatever a start does a moment later is
 * counted as well.
 */
async function measureRestart(cluster: SmallCluster, { bulk, contender }: Subject) {
  if (values.part === "restart") await writeRules(cluster, bulk);
  const canary = bulk.canaries[0];
  const startedAt = performance.now();
  const { process, stop } = await startContender(cluster, contender, mode);
  try {
    await cluster.api.update(bulk.canarySlice(canary, "b"));
    await untilAnsweredBy("b", canary.clusterIP, { deadlineMs: START_DEADLINE_MS, pauseMs: 10 });
    const restartMs = performance.now() - startedAt;
    await sleep(2_000);
    const { cpuSeconds } = process.usage();
    await sleep(Number(values["rest-seconds"]) * 1_000);
    const { peakMb } = process.usage();
    return { restartMs, restartCpuMs: cpuSeconds * 1_000, restartPeakMb: peakMb };
  } finally {
    await stop();
    await cluster.api.update(bulk.canarySlice(canary, "a"));
  }
}

/** A run of ours until everything is in force; its processor time in milliseconds, as of every start. */
async function writeRules(cluster: SmallCluster, bulk: BulkCluster): Promise<number> {
  const [ours] = contenders("ours");
  const { process, stop } = await startContender(cluster, ours, mode);
  try {
    for (const { clusterIP } of bulk.canaries) {
      await untilAnsweredBy("a", clusterIP, { deadlineMs: START_DEADLINE_MS, pauseMs: 10 });
    }
    await sleep(2_000);
    return process.usage().cpuSeconds * 1_000;
  } finally {
    await stop();
  }
}

/** Starts, and restarts over what each of them wrote, one after the other. */
async function measurePairs(cluster: SmallCluster, bulk: BulkCluster): Promise<void> {
  const pairs: (readonly [startMs: number, restartMs: number])[] = [];
  for (let i = 0; i < PAIRS; i++) {
    pairs.push([await writeRules(cluster, bulk), await writeRules(cluster, bulk)]);
    await cluster.deleteRules(mode);
  }
  const [starts, restarts] = [0, 1].map((i) => pairs.map((pair) => pair[i]));
  print(formatTable(
    ["what", ...pairs.map((_, i) => String(i + 1)), "median"]
      .map((title, i) => ({ title, right: i > 0 })),
    ([["CPU of the start, ms", starts], ["CPU of the restart, ms", restarts]] as const)
      .map(([title, each]) => [title, ...each.map(formatMs), formatMs(percentile(each, 0.5))]),
  ));
}

/** How many commits of nf_tables a restart of ours takes that finds nothing changed. */
async function commitsOfRestart(cluster: SmallCluster, bulk: BulkCluster): Promise<number> {
  await writeRules(cluster, bulk);
  const transport = inNetworkNamespace(
    `/run/netns/${cluster.node}`,
    () => new DirectTransport(),
  );
  const [ours] = contenders("ours");
  const before = await transport.generation();
  const { process, stop } = await startContender(cluster, ours, mode);
  try {
    await process.inSync(START_DEADLINE_MS);
    await sleep(AT_REST_MS);
    return await transport.generation() - before;
  } finally {
    transport.close();
    await stop();
    await cluster.deleteRules(mode);
  }
}

/** What is promised of a line in this mode. */
function promiseOf({ promises }: Line): string {
  return promises[promisedIn.indexOf(nameOfMode(mode))];
}

/** Counts on the node what the apiserver sends. */
async function countReceived(cluster: SmallCluster): Promise<void> {
  await cluster.onNode(
    ["nft", "-f", "-"],
    `add table inet bench
delete table inet bench
table inet bench {
  chain in {
    type filter hook input priority 0
    tcp sport 6443 counter
  }
}
`,
  );
}

async function received(cluster: SmallCluster): Promise<number> {
  const listed = await cluster.onNode(["nft", "list", "table", "inet", "bench"]);
  return Number(/bytes (\d+)/.exec(listed)?.[1] ?? NaN);
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

await using cluster = await SmallCluster.create();
const services = Number(values.services);
const endpoints = Number(values.endpoints);
const bulk = new BulkCluster({ services, endpoints });
await cluster.api.createAll(bulk.objects());
print(`## ${services} Services x ${endpoints}, ${nameOfMode(mode)}\n`);
if (values.part === "pairs") await measurePairs(cluster, bulk);
else await measureAll(cluster, bulk);

async function measureAll(cluster: SmallCluster, bulk: BulkCluster): Promise<void> {
  const measured: Partial<Figures>[] = [];
  const all = contenders(values.only).filter(({ minSyncPeriod }) => minSyncPeriod === "0s");
  for (const contender of all) measured.push(await measure(cluster, { bulk, contender }));
  const rows = lines.flatMap((line) => {
    const figures = measured.map((each) => each[line.figure]);
    if (figures.includes(undefined)) return [];
    const [ours = NaN, theirs = NaN] = figures;
    return [[
      line.title,
      ...figures.map((figure = NaN) => formatMs(figure)),
      formatRatio(line.ratio === "theirs ÷ ours" ? theirs / ours : ours / theirs),
      line.ratio,
      promiseOf(line),
    ]];
  });
  const titles = ["what", ...all.map(({ title }) => title), "ratio", "of what", "promised"];
  print(
    formatTable(titles.map((title, i) => ({ title, right: i > 0 && i < titles.length - 2 })), rows),
  );
  if (values.part !== "load" && nameOfMode(mode) !== "iptables (legacy)") {
    const commits = await commitsOfRestart(cluster, bulk);
    print(`\nA restart of ours with nothing changed: ${commits} commits.`);
  }
}
