/**
 * How long a change takes to reach packets: from the apiserver's acknowledgement of an EndpointSlice
 * to a real connection that meets the new endpoint, ours and upstream's one after the other.
 *   scripts/bench change [--changes=500] [--upstream-changes=100] [--default-changes=20]
 *                        [--pause-ms=300, iptables 1200] [--services=1000,10000] [--only=ours]
 *                        [--mode=nftables|iptables] [--backend=nft|legacy]
 */
import { parseArgs } from "node:util";
import type { ProxyProcess } from "../controlplane/rig/proxy_process.ts";
import { SmallCluster, untilAnsweredBy } from "../controlplane/rig/small_cluster.ts";
import {
  BulkCluster,
  type Contender,
  contenders,
  ruleModeOf,
  startContender,
} from "./cluster_subject.ts";
import { replayBare } from "./bare_replay.ts";
import { nameOfMode } from "../scenarios/setups.ts";
import { formatMs, formatRatio, formatTable, percentile, print } from "./table.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    // Of ours: enough that its processor time is that of a proxy which runs, and not of one whose code
    // is being compiled.
    changes: { type: "string", default: "500" },
    // Upstream's is compiled before, and takes longer.
    "upstream-changes": { type: "string", default: "100" },
    // Upstream's own gather for a second each, and there is nothing to learn from more of them.
    "default-changes": { type: "string", default: "20" },
    // Between two changes, so that each is one of its own: by default longer than a proxy rests.
    "pause-ms": { type: "string" },
    services: { type: "string", default: "1000,10000" },
    only: { type: "string", default: "" },
    mode: { type: "string", default: "nftables" },
    backend: { type: "string", default: "nft" },
  },
});
const ENDPOINTS = 10;
/** Upstream takes minutes for a large cluster in iptables' nft backend. */
const START_DEADLINE_MS = 900_000;
const mode = ruleModeOf(values);
const pauseMs = Number(values["pause-ms"] ?? (mode.kind === "nftables" ? 300 : 1_200));

/** What a change of ours may take of upstream's. */
const mostOfUpstreams = {
  nft: (services: number) => services >= 5_000 ? 0.6 : 0.85,
  legacy: () => 1,
} as const;

/** Changes that come so close that the processor's caches still hold what the last one needed. */
const CLOSE_PAUSE_MS = 20;

interface Series {
  readonly samplesMs: readonly number[];
  readonly cpuMsPerChange: number;
  /** How often a thread of the proxy had to be woken. */
  readonly wakesPerChange: number;
}

interface Measured extends Series {
  readonly title: string;
  /** Of ours: the same with changes that come close together. */
  readonly close?: Series;
  /** The calls of the kernel alone. */
  readonly bareMs?: readonly number[];
}

async function measure(
  cluster: SmallCluster,
  { bulk, contender }: { readonly bulk: BulkCluster; readonly contender: Contender },
): Promise<Measured> {
  const { process, stop } = await startContender(cluster, contender, mode);
  let isRunning = true;
  try {
    for (const canary of bulk.canaries) {
      await untilAnsweredBy("a", canary.clusterIP, { deadlineMs: START_DEADLINE_MS, pauseMs: 50 });
    }
    const { minSyncPeriod, program, title } = contender;
    const changes = Number(
      program.name === "ours"
        ? values.changes
        : values[minSyncPeriod === "0s" ? "default-changes" : "upstream-changes"],
    );
    const make = (pauseMs: number) =>
      makeChanges(cluster, { bulk, proxy: process, changes, pauseMs });
    const series = await make(pauseMs);
    if (program.name !== "ours") return { title, ...series };
    const close = mode.kind === "nftables" ? { close: await make(CLOSE_PAUSE_MS) } : {};
    await stop();
    isRunning = false;
    const bareMs = await replayBare({ namespace: cluster.node, bulk, mode, changes });
    return { title, ...series, ...close, ...bareMs ? { bareMs } : {} };
  } finally {
    if (isRunning) await stop();
    await cluster.deleteRules(mode);
  }
}

/** One after the other, each until a packet meets it. */
async function makeChanges(
  cluster: SmallCluster,
  { bulk, changes, pauseMs, proxy }: {
    readonly bulk: BulkCluster;
    readonly proxy: ProxyProcess;
    readonly changes: number;
    readonly pauseMs: number;
  },
): Promise<Series> {
  const [cpuBefore, wakesBefore] = [proxy.usage().cpuSeconds, wakesOf(proxy.pid)];
  const samplesMs: number[] = [];
  for (let i = 0; i < changes; i++) {
    const canary = bulk.canaries[i % bulk.canaries.length];
    const pod = Math.floor(i / bulk.canaries.length) % 2 === 0 ? "b" : "a";
    await cluster.api.update(bulk.canarySlice(canary, pod));
    samplesMs.push(await untilAnsweredBy(pod, canary.clusterIP));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  const cpuMsPerChange = (proxy.usage().cpuSeconds - cpuBefore) * 1000 / changes;
  const wakesPerChange = (wakesOf(proxy.pid) - wakesBefore) / changes;
  for (const canary of bulk.canaries) await cluster.api.update(bulk.canarySlice(canary, "a"));
  await untilAnsweredBy("a", bulk.canaries[bulk.canaries.length - 1].clusterIP);
  return { samplesMs, cpuMsPerChange, wakesPerChange };
}

/** How often its threads have waited so far, and were woken again. */
function wakesOf(pid: number): number {
  let wakes = 0;
  for (const { name } of Deno.readDirSync(`/proc/${pid}/task`)) {
    const status = Deno.readTextFileSync(`/proc/${pid}/task/${name}/status`);
    wakes += Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(status)?.[1] ?? NaN);
  }
  return wakes;
}

async function measureAll(services: number): Promise<void> {
  await using cluster = await SmallCluster.create();
  const bulk = new BulkCluster({ services, endpoints: ENDPOINTS });
  await cluster.api.createAll(bulk.objects());
  const measured: Measured[] = [];
  for (const contender of contenders(values.only)) {
    measured.push(await measure(cluster, { bulk, contender }));
  }
  const [ours] = measured;
  const rows = measured.map(({ title, samplesMs, cpuMsPerChange }) => {
    const [p50, p99] = [percentile(samplesMs, 0.5), percentile(samplesMs, 0.99)];
    return [
      title,
      String(samplesMs.length),
      formatMs(p50),
      formatMs(p99),
      formatMs(Math.max(...samplesMs)),
      formatMs(cpuMsPerChange),
      `${formatRatio(p50 / percentile(ours.samplesMs, 0.5))} / ${
        formatRatio(p99 / percentile(ours.samplesMs, 0.99))
      }`,
    ];
  });
  const columns = [
    "proxy",
    "changes",
    "p50, ms",
    "p99, ms",
    "slowest, ms",
    "CPU a change, ms",
    "p50, p99 ÷ ours",
  ].map((title, i) => ({ title, right: i > 0 }));
  print(`## ${services} Services x ${ENDPOINTS}, ${nameOfMode(mode)}\n`);
  print(`${formatTable(columns, rows)}\n`);
  if (ours.close !== undefined) {
    const { cpuMsPerChange, samplesMs, wakesPerChange } = ours.close;
    print(
      `The same changes of ours ${CLOSE_PAUSE_MS} ms apart: CPU a change ${
        formatMs(cpuMsPerChange)
      } ms, p50 ${formatMs(percentile(samplesMs, 0.5))} ms. Its threads were woken ${
        wakesPerChange.toFixed(1)
      } times a change, and ${ours.wakesPerChange.toFixed(1)} times in the table.\n`,
    );
  }
  const quickest = measured.slice(1).map(({ samplesMs }) => percentile(samplesMs, 0.5))
    .sort((a, b) => a - b)[0];
  const promised = mode.kind === "iptables" ? mostOfUpstreams[mode.backend](services) : undefined;
  if (quickest !== undefined && promised !== undefined) {
    const share = percentile(ours.samplesMs, 0.5) / quickest;
    print(`p50, ours ÷ the quicker of upstream's: ${share.toFixed(2)}; promised ≤ ${promised}\n`);
  }
  if (ours.bareMs === undefined) return;
  const [p50, bare] = [ours.samplesMs, ours.bareMs].map((each) => percentile(each, 0.5));
  print(
    `The kernel alone takes ${formatMs(bare)} ms for our batches: ours ÷ bare ${
      (p50 / bare).toFixed(2)
    }${mode.kind === "iptables" ? "; promised ≤ 1.25" : ""}\n`,
  );
}

for (const services of values.services.split(",")) await measureAll(Number(services));
