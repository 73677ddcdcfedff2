/**
 * How long a change takes to reach packets: from the apiserver's acknowledgement of an EndpointSlice
 * to a real connection that meets the new endpoint, ours and upstream's one after the other.
 *   scripts/bench change [--changes=200] [--default-changes=50] [--services=1000,10000] [--only=ours]
 */
import { parseArgs } from "node:util";
import { SmallCluster, untilAnsweredBy } from "../controlplane/rig/small_cluster.ts";
import { BulkCluster, type Contender, contenders, startContender } from "./cluster_subject.ts";
import { formatMs, formatRatio, formatTable, percentile, print } from "./table.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    changes: { type: "string", default: "200" },
    // Upstream's own gather for a second each, and there is nothing to learn from more of them.
    "default-changes": { type: "string", default: "50" },
    services: { type: "string", default: "1000,10000" },
    only: { type: "string", default: "" },
  },
});
const ENDPOINTS = 10;
/** Between two changes, so that each is one of its own. */
const PAUSE_MS = 50;
const START_DEADLINE_MS = 120_000;

interface Measured {
  readonly title: string;
  readonly samplesMs: readonly number[];
  readonly cpuMsPerChange: number;
}

async function measure(
  cluster: SmallCluster,
  { bulk, contender }: { readonly bulk: BulkCluster; readonly contender: Contender },
): Promise<Measured> {
  const { process, stop } = await startContender(cluster, contender);
  try {
    for (const canary of bulk.canaries) {
      await untilAnsweredBy("a", canary.clusterIP, { deadlineMs: START_DEADLINE_MS, pauseMs: 50 });
    }
    const before = process.usage().cpuSeconds;
    const samplesMs: number[] = [];
    const { program, minSyncPeriod } = contender;
    const isSlow = program.name === "upstream" && minSyncPeriod === "0s";
    const changes = Number(isSlow ? values["default-changes"] : values.changes);
    for (let i = 0; i < changes; i++) {
      const canary = bulk.canaries[i % bulk.canaries.length];
      const pod = Math.floor(i / bulk.canaries.length) % 2 === 0 ? "b" : "a";
      await cluster.api.update(bulk.canarySlice(canary, pod));
      samplesMs.push(await untilAnsweredBy(pod, canary.clusterIP));
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    const cpuMsPerChange = (process.usage().cpuSeconds - before) * 1000 / changes;
    for (const canary of bulk.canaries) await cluster.api.update(bulk.canarySlice(canary, "a"));
    return { title: contender.title, samplesMs, cpuMsPerChange };
  } finally {
    await stop();
    await cluster.deleteRules();
  }
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
  print(`## ${services} Services x ${ENDPOINTS}\n`);
  print(`${formatTable(columns, rows)}\n`);
}

for (const services of values.services.split(",")) await measureAll(Number(services));
