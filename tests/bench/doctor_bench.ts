/**
 * The rehearsal of a large cluster, with objects from a real apiserver, beside what trying it on the live
 * node costs: the start of upstream's proxy in nftables mode on the same objects.
 *   scripts/bench doctor [--services=10000] [--endpoints=10] [--ours-alone]
 *   scripts/bench doctor --part=looking      all that it looks at, without a rehearsal
 */
import { parseArgs } from "node:util";
import { ProxyFiles } from "../controlplane/rig/proxy_files.ts";
import { ourProgram, ProxyProcess } from "../controlplane/rig/proxy_process.ts";
import { nodeName, SmallCluster, untilAnsweredBy } from "../controlplane/rig/small_cluster.ts";
import { podCIDRs } from "../scenarios/addresses.ts";
import { measureLooking } from "./doctor_looking.ts";
import { BulkCluster, contenders, startContender } from "./cluster_subject.ts";
import { formatMs, formatRatio, formatTable, print } from "./table.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    services: { type: "string", default: "10000" },
    endpoints: { type: "string", default: "10" },
    part: { type: "string" },
    // Upstream takes half a minute.
    "ours-alone": { type: "boolean", default: false },
  },
});
const START_DEADLINE_MS = 900_000;
/** How often the process is asked for its peak. */
const PEAK_EVERY_MS = 20;

interface Doctor {
  readonly wholeMs: number;
  readonly loadMs: number;
  readonly packets: number;
  readonly packetsMs: number;
  readonly faults: number;
  readonly peakMb: number;
  readonly kernelMb: number;
}

/** As the program's JSON has it. */
interface Told {
  readonly rehearsal: {
    readonly families: readonly { readonly milliseconds: number; readonly error?: string }[];
    readonly kernelBytes: number;
    readonly packets: {
      readonly sent: number;
      readonly milliseconds: number;
      readonly faults: readonly unknown[];
    };
  } | null;
}

/** The rehearsal alone: what the other checks take is no part of it. */
async function measureDoctor(cluster: SmallCluster): Promise<Doctor> {
  const clusterCIDR = `${podCIDRs.IPv4},${podCIDRs.IPv6}`;
  await using files = await ProxyFiles.create(cluster.plane.access, {
    clusterCIDR,
    mode: "nftables",
  });
  const startedAt = performance.now();
  const args = [
    "doctor",
    "--only",
    "DRY01",
    "-o",
    "json",
    `--config=${files.config}`,
    `--node=${nodeName}`,
  ];
  await using process = new ProxyProcess({ program: ourProgram(), namespace: cluster.node, args });
  let peakMb = 0;
  const look = setInterval(() => peakMb = Math.max(peakMb, peakOf(process)), PEAK_EVERY_MS);
  const code = await process.ended;
  clearInterval(look);
  const wholeMs = performance.now() - startedAt;
  const { rehearsal }: Told = JSON.parse(process.stdout);
  if (!rehearsal || code !== 0) {
    throw new Error(`Cannot measure: exit code ${code}: ${process.stdout}`);
  }
  const { families, kernelBytes, packets } = rehearsal;
  return {
    wholeMs,
    loadMs: families.reduce((sum, { milliseconds }) => sum + milliseconds, 0),
    packets: packets.sent,
    packetsMs: packets.milliseconds,
    faults: packets.faults.length,
    peakMb,
    kernelMb: kernelBytes / 1e6,
  };
}

function peakOf(process: ProxyProcess): number {
  try {
    return process.usage().peakMb || 0;
  } catch {
    // It has ended.
    return 0;
  }
}

/** To the last of 20 VIPs that are spread over all Services. */
async function measureUpstream(cluster: SmallCluster, bulk: BulkCluster) {
  const [contender] = contenders("upstream");
  const startedAt = performance.now();
  const { process, stop } = await startContender(cluster, contender);
  try {
    for (const { clusterIP } of bulk.canaries) {
      await untilAnsweredBy("a", clusterIP, { deadlineMs: START_DEADLINE_MS, pauseMs: 10 });
    }
    return { startMs: performance.now() - startedAt, peakMb: process.usage().peakMb };
  } finally {
    await stop();
    await cluster.deleteRules();
  }
}

if (values.part === "looking") {
  print("## All checks but DRY01, the median of three runs\n");
  print(await measureLooking());
  Deno.exit(0);
}
await using cluster = await SmallCluster.create();
const services = Number(values.services);
const endpoints = Number(values.endpoints);
const bulk = new BulkCluster({ services, endpoints });
await cluster.api.createAll(bulk.objects());
const doctor = await measureDoctor(cluster);
const upstream = values["ours-alone"] ? undefined : await measureUpstream(cluster, bulk);
const row = (title: string, ours: string, theirs = "", ratio = "", promise = "") => [
  title,
  ours,
  theirs,
  ratio,
  promise,
];
print(`## ${services} Services x ${endpoints}, objects from a real apiserver\n`);
print(
  formatTable(
    ["what", "doctor", "upstream's start", "ratio", "promised"].map((title, i) => ({
      title,
      right: i > 0 && i < 4,
    })),
    [
      row(
        "whole run, from its start to its end, ms",
        formatMs(doctor.wholeMs),
        upstream ? formatMs(upstream.startMs) : "",
        upstream ? formatRatio(upstream.startMs / doctor.wholeMs) : "",
      ),
      row("of that loading the rules, ms", formatMs(doctor.loadMs), "", "", "≤ 2000"),
      row(
        `of that ${doctor.packets} packets, ms`,
        formatMs(doctor.packetsMs),
        "",
        "",
        "≤ 1000 for 2000",
      ),
      row("packets that fared otherwise", String(doctor.faults), "", "", "0"),
      row(
        "peak RSS, MB",
        formatMs(doctor.peakMb),
        upstream ? formatMs(upstream.peakMb) : "",
        upstream ? formatRatio(doctor.peakMb / upstream.peakMb) : "",
        "≤ 250",
      ),
      row("kernel memory, MB", formatMs(doctor.kernelMb)),
    ],
  ),
);
