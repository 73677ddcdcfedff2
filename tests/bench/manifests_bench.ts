/**
 * `kube-proxy run --manifests` as a user meets it: from the start of the process to the last of its
 * Services that answers a real connection, and what it takes then.
 *   scripts/bench manifests [--services=10000] [--endpoints=10] [--rest-seconds=60]
 *                           [--formats=json,json-indented,yaml,yaml-documents]
 */
import { parseArgs } from "node:util";
import { ourProgram, ProxyProcess } from "../controlplane/rig/proxy_process.ts";
import { Cluster } from "../kernel/rig/cluster.ts";
import { deleteProxyTables } from "../kernel/rig/shop_cluster.ts";
import { hostAddresses } from "../scenarios/addresses.ts";
import {
  endpointPort,
  endpointRange,
  generateCluster,
  type ManifestFormat,
  serviceAddress,
} from "./generate_cluster.ts";
import { formatMs, formatTable, print } from "./table.ts";

const allFormats: readonly ManifestFormat[] = ["json", "json-indented", "yaml", "yaml-documents"];
const { values } = parseArgs({
  args: Deno.args,
  options: {
    services: { type: "string", default: "10000" },
    endpoints: { type: "string", default: "10" },
    "rest-seconds": { type: "string", default: "60" },
    formats: { type: "string", default: allFormats.join() },
  },
});
const services = Number(values.services);
const endpoints = Number(values.endpoints);
const START_DEADLINE_MS = 180_000;
/** Before it is at rest, the engine gives memory back: some 0.2 s of processor time, once. */
const SETTLE_MS = 20_000;
/** How many of the Services are asked, the first and the last among them. */
const ASKED = 20;

interface Figures {
  readonly format: ManifestFormat;
  readonly megabytes: number;
  readonly answeredMs: number;
  /** How long of it the program could have run and others had the processor. */
  readonly waitedMs: number;
  readonly startCpuMs: number;
  readonly restMb: number;
  readonly peakMb: number;
  readonly restCpuPercent: number;
}

async function measure(
  cluster: Cluster,
  format: ManifestFormat,
): Promise<Figures> {
  const folder = await Deno.makeTempDir({ prefix: "kube-proxy-bench-" });
  try {
    const bytes = await generateCluster({ services, endpoints, format, folder });
    const startedAt = performance.now();
    await using process = new ProxyProcess({
      program: ourProgram(),
      namespace: cluster.namespace("node"),
      args: [
        "run",
        `--manifests=${folder}`,
        "--hostname-override=node",
        "--proxy-mode=nftables",
        "--nodeport-addresses=primary",
        "--conntrack-max-per-core=0",
        "--conntrack-min=0",
        "--conntrack-tcp-timeout-established=0",
        "--conntrack-tcp-timeout-close-wait=0",
      ],
    });
    await untilAllAnswer(cluster, process);
    const answeredMs = performance.now() - startedAt;
    const waitedMs = waitedForProcessorMs(process.pid);
    const startCpuMs = process.usage().cpuSeconds * 1_000;
    await sleep(SETTLE_MS);
    const before = process.usage().cpuSeconds;
    const restSeconds = Number(values["rest-seconds"]);
    await sleep(restSeconds * 1_000);
    const { cpuSeconds, peakMb, residentMb } = process.usage();
    const restCpuPercent = 100 * (cpuSeconds - before) / restSeconds;
    const megabytes = bytes / 1e6;
    return {
      format,
      megabytes,
      answeredMs,
      waitedMs,
      startCpuMs,
      restMb: residentMb,
      peakMb,
      restCpuPercent,
    };
  } finally {
    await deleteProxyTables(cluster);
    await Deno.remove(folder, { recursive: true });
  }
}

/** Of the main thread; the second number of the file counts nanoseconds. */
function waitedForProcessorMs(pid: number): number {
  const [, waited] = Deno.readTextFileSync(`/proc/${pid}/task/${pid}/schedstat`).split(" ");
  return Number(waited) / 1e6;
}

/** Asks one after the other: each was asked after the one before had answered. */
async function untilAllAnswer(cluster: Cluster, process: ProxyProcess): Promise<void> {
  const deadline = performance.now() + START_DEADLINE_MS;
  for (let i = 0; i < ASKED; i++) {
    const hostname = serviceAddress(Math.round(i * (services - 1) / (ASKED - 1)));
    while (!await answers(cluster, hostname)) {
      if (performance.now() < deadline && process.isRunning) continue;
      throw new Error(`Cannot reach the Service at ${hostname}: nobody answers\n${process.log()}`);
    }
  }
}

async function answers(cluster: Cluster, hostname: string): Promise<boolean> {
  const { kind } = await cluster.agent.probe({
    namespace: cluster.namespace("pod-b"),
    protocol: "TCP",
    address: hostname,
    port: 80,
    timeoutMs: 20,
  });
  return kind === "reached";
}

/** One pod is every endpoint. */
async function serveEndpoints(cluster: Cluster): Promise<void> {
  const pod = hostAddresses["pod-a"].IPv4;
  await cluster.run("node", ["ip", "route", "add", endpointRange, "via", pod]);
  await cluster.run("pod-a", ["ip", "route", "add", "local", endpointRange, "dev", "lo"]);
  await cluster.agent.serve({
    namespace: cluster.namespace("pod-a"),
    name: "pod-a",
    protocol: "TCP",
    address: "0.0.0.0",
    port: endpointPort,
  });
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

async function main(): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "kube-proxy-bench-" });
  try {
    await using cluster = await Cluster.create();
    await serveEndpoints(cluster);
    const rows: string[][] = [];
    for (const format of allFormats.filter((each) => values.formats.split(",").includes(each))) {
      const figures = await measure(cluster, format);
      rows.push([
        figures.format,
        figures.megabytes.toFixed(1),
        formatMs(figures.answeredMs),
        formatMs(figures.waitedMs),
        formatMs(figures.startCpuMs),
        formatMs(figures.peakMb),
        formatMs(figures.restMb),
        figures.restCpuPercent.toFixed(2),
      ]);
    }
    const titles = [
      "format",
      "files, MB",
      "start to last VIP, ms",
      "of that, waiting for a processor, ms",
      "CPU of the start, ms",
      "peak RSS, MB",
      "RSS at rest, MB",
      `CPU in ${values["rest-seconds"]} s of rest, %`,
    ];
    print(`## ${services} Services x ${endpoints}\n`);
    print(formatTable(titles.map((title, i) => ({ title, right: i > 0 })), rows));
    print("\nPromised of JSON: 2000 ms, peak 350 MB, at rest 200 MB and 0.05 % of a core.");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

await main();
