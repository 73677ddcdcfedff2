/**
 * One tenant's giant Services beside another one's: how long the other one's changes take while three of
 * 1,000 ports and 1,000 endpoints come, change and go, ours and upstream's one after the other. Each part
 * takes the same time for both, however far a proxy gets in it.
 *   scripts/bench giants [--size=1000] [--seconds=40] [--only=ours]
 */
import { parseArgs } from "node:util";
import type { ManifestObject } from "../controlplane/rig/api.ts";
import { namespaceName, SmallCluster, untilAnsweredBy } from "../controlplane/rig/small_cluster.ts";
import { BulkCluster, type Contender, contenders, startContender } from "./cluster_subject.ts";
import { FamilyMemory } from "./family_memory.ts";
import { formatMs, formatTable, percentile, print } from "./table.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    size: { type: "string", default: "1000" },
    seconds: { type: "string", default: "40" },
    only: { type: "string", default: "" },
  },
});
const [size, seconds] = [Number(values.size), Number(values.seconds)];
const GIANTS = 3;
/** What an EndpointSlice may name. */
const PORTS_IN_SLICE = 100;
const PAUSE_MS = 50;
const CHANGE_EVERY_MS = 100;
/** A change that takes longer than this counts as so long. */
const LONGEST_MS = 60_000;

function service(giant: number): ManifestObject {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: `giant-${giant}`, namespace: namespaceName },
    spec: {
      clusterIP: `172.30.200.${giant + 1}`,
      ipFamilyPolicy: "SingleStack",
      ports: Array.from({ length: size }, (_, i) => (
        { name: `p${i}`, port: 1_000 + i, protocol: "TCP", targetPort: 1_000 + i }
      )),
    },
  };
}

/** Another state of a slice with each step: its first endpoint is another one. */
function slice(giant: number, part: number, step: number): ManifestObject {
  const ports = Array.from({ length: Math.min(PORTS_IN_SLICE, size) }, (_, i) => {
    const number = part * PORTS_IN_SLICE + i;
    return { name: `p${number}`, port: 1_000 + number, protocol: "TCP" };
  });
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name: `giant-${giant}-${part}`,
      namespace: namespaceName,
      labels: { "kubernetes.io/service-name": `giant-${giant}` },
    },
    addressType: "IPv4",
    ports,
    endpoints: Array.from({ length: size }, (_, i) => {
      const number = i === 0 ? size + step % 50 : i;
      return {
        addresses: [`10.${129 + giant}.${number >> 8}.${number & 0xff}`],
        conditions: { ready: true },
      };
    }),
  };
}

const parts = Array.from({ length: Math.ceil(size / PORTS_IN_SLICE) }, (_, part) => part);
const giants = Array.from({ length: GIANTS }, (_, giant) => giant);
const objects = giants.flatMap((giant) => [
  service(giant),
  ...parts.map((part) => slice(giant, part, 0)),
]);

async function measure(cluster: SmallCluster, contender: Contender): Promise<string[][]> {
  const bulk = new BulkCluster({ services: 20, endpoints: 1 });
  const { process, stop } = await startContender(cluster, contender);
  using memory = new FamilyMemory(process.pid);
  let step = 0;
  const phases: readonly (readonly [string, (signal: AbortSignal) => Promise<void>])[] = [
    ["come", () => cluster.api.createAll(objects)],
    ["change", async (signal) => {
      while (!signal.aborted) {
        await cluster.api.update(slice(++step % GIANTS, step % parts.length, step));
        await new Promise((resolve) => setTimeout(resolve, CHANGE_EVERY_MS));
      }
    }],
    ["go", async () => {
      for (const object of objects) await cluster.api.delete(object);
    }],
  ];
  const rows: string[][] = [];
  try {
    const [canary] = bulk.canaries;
    await untilAnsweredBy("a", canary.clusterIP, { deadlineMs: LONGEST_MS, pauseMs: 50 });
    let pod: "a" | "b" = "a";
    for (const [phase, body] of phases) {
      const over = new AbortController();
      const acting = body(over.signal);
      const samplesMs: number[] = [];
      const end = performance.now() + seconds * 1_000;
      while (performance.now() < end) {
        pod = pod === "a" ? "b" : "a";
        await cluster.api.update(bulk.canarySlice(canary, pod));
        const wait = untilAnsweredBy(pod, canary.clusterIP, { deadlineMs: LONGEST_MS });
        samplesMs.push(await wait.catch(() => LONGEST_MS));
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
      over.abort();
      await acting;
      rows.push([
        contender.title,
        phase,
        String(samplesMs.length),
        formatMs(percentile(samplesMs, 0.5)),
        formatMs(percentile(samplesMs, 0.99)),
        formatMs(Math.max(...samplesMs)),
        memory.peakMb.toFixed(0),
      ]);
    }
    await cluster.api.update(bulk.canarySlice(canary, "a"));
  } finally {
    await stop();
    await cluster.deleteRules();
  }
  return rows;
}

const rows: string[][] = [];
{
  await using cluster = await SmallCluster.create();
  await cluster.api.createAll(new BulkCluster({ services: 20, endpoints: 1 }).objects());
  const chosen = contenders(values.only).filter(({ title }) => title !== "upstream");
  for (const contender of chosen) rows.push(...await measure(cluster, contender));
}
const titles = [
  "proxy",
  "while they",
  "changes",
  "p50, ms",
  "p99, ms",
  "slowest, ms",
  "peak RSS with its children, MB",
];
print(`## ${GIANTS} Services of ${size} ports and ${size} endpoints, ${seconds} s each\n`);
print(formatTable(titles.map((title, i) => ({ title, right: i > 1 })), rows));
print("\nPromised of ours: p99 500 ms, 600 MB.");
