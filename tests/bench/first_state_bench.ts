/**
 * From nothing to the first complete state of a large cluster, without kernel and program round it:
 * what the client and its watches cost. Every run is a process of its own, so nothing is warm.
 *   scripts/bench first_state [--services=10000] [--endpoints=10] [--runs=5]
 */
import { parseArgs } from "node:util";
import { ApiClient } from "../controlplane/rig/api.ts";
import { ControlPlane } from "../controlplane/rig/control_plane.ts";
import { joinNode } from "../controlplane/rig/network.ts";
import { namespaceObject } from "../controlplane/rig/objects.ts";
import { namespaceName } from "../controlplane/rig/small_cluster.ts";
import { BulkCluster } from "./cluster_subject.ts";
import type { FirstState } from "./first_state_process.ts";
import { formatTable, median, print } from "./table.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    services: { type: "string", default: "10000" },
    endpoints: { type: "string", default: "10" },
    runs: { type: "string", default: "5" },
  },
});
const services = Number(values.services);
const endpoints = Number(values.endpoints);
/** What upstream's process receives at 10,000 Services of 10 endpoints until its first sync. */
const upstreamMb = 7.4;
/** As the program is compiled. */
const v8Flags =
  "--v8-flags=--max-semi-space-size=2,--no-memory-reducer,--no-allocation-site-pretenuring,--expose-gc";

interface Run extends FirstState {
  readonly wireMb: number;
}

const columns: readonly { readonly title: string; readonly read: (run: Run) => number }[] = [
  { title: "first state, ms", read: (run) => run.wallMs },
  { title: "CPU of it, ms", read: (run) => run.cpuMs },
  { title: "CPU of the process, ms", read: (run) => run.totalCpuMs },
  { title: "received on the wire, MB", read: (run) => run.wireMb },
  { title: "after decompression, MB", read: (run) => run.decodedMb },
  { title: "RSS, MB", read: (run) => run.residentMb },
  { title: "peak RSS, MB", read: (run) => run.peakMb },
];

await using plane = await ControlPlane.start();
{
  using api = new ApiClient(plane.access);
  await api.create(namespaceObject(namespaceName));
  await api.createAll(new BulkCluster({ services, endpoints }).objects());
}
const node = `${plane.access.namespace}-node`;
await ip("netns", "add", node);
try {
  await joinNode(plane.access.namespace, { node, index: 2 });
  const runs: Run[] = [];
  for (let i = 0; i < Number(values.runs); i++) runs.push(await measure());
  if (runs.some(({ objects }) => objects < 2 * services)) {
    throw new Error(`Cannot measure: objects are missing: ${runs.map(({ objects }) => objects)}`);
  }
  print(`${services} Services and EndpointSlices of ${endpoints}, ${runs.length} processes.\n`);
  const row = (title: string, pick: (samples: readonly number[]) => number) => [
    title,
    ...columns.map(({ read }) => pick(runs.map(read)).toPrecision(3)),
  ];
  print(formatTable([{ title: "" }, ...columns.map(({ title }) => ({ title, right: true }))], [
    row("median", median),
    row("best", (samples) => Math.min(...samples)),
    row("worst", (samples) => Math.max(...samples)),
  ]));
  print(`\nUpstream's process receives ${upstreamMb} MB at 10,000 Services of 10 endpoints.`);
} finally {
  await ip("netns", "delete", node);
}

async function measure(): Promise<Run> {
  const before = await receivedBytes();
  const process = new URL("first_state_process.ts", import.meta.url).pathname;
  const { stdout } = await new Deno.Command("ip", {
    args: ["netns", "exec", node, Deno.execPath(), "run", "-A", "--no-check", v8Flags, process]
      .concat(JSON.stringify(plane.access)),
    stderr: "inherit",
  }).output();
  const figures: FirstState = JSON.parse(new TextDecoder().decode(stdout));
  return { ...figures, wireMb: (await receivedBytes() - before) / 1e6 };
}

/** All that the node's interface received: handshakes, headers and acknowledgements too. */
async function receivedBytes(): Promise<number> {
  const { stdout } = await new Deno.Command("ip", {
    args: ["netns", "exec", node, "cat", "/sys/class/net/eth0/statistics/rx_bytes"],
  }).output();
  return Number(new TextDecoder().decode(stdout));
}

async function ip(...args: readonly string[]): Promise<void> {
  const { success } = await new Deno.Command("ip", { args: [...args] }).output();
  if (!success) throw new Error(`Cannot run "ip ${args.join(" ")}"; run as root with iproute2`);
}
