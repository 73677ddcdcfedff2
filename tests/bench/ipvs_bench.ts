/**
 * ipvs mode in a virtual machine, since this machine's kernel may have no IPVS: first sync, a change, a
 * restart, ours and upstream's one after the other in the same guest.
 *   scripts/bench ipvs [--kernel=6.1|user-mode] [--part=local]
 * QEMU emulates the processor, and a start costs several times as much there; `--kernel=user-mode` emulates
 * none. With `--part=local` all endpoints run on the measured node, each
 * of which has an entry of its own in a set: upstream starts a process for it.
 */
import { parseArgs } from "node:util";
import { ApiClient } from "../controlplane/rig/api.ts";
import { ControlPlane } from "../controlplane/rig/control_plane.ts";
import { namespaceObject } from "../controlplane/rig/objects.ts";
import {
  ourProgram,
  type ProxyProgram,
  upstreamProgram,
} from "../controlplane/rig/proxy_process.ts";
import { nodeManifest } from "../scenarios/manifests.ts";
import { Drive } from "../vm/drive.ts";
import { kernels, provideTools, runGuest, userMode } from "../vm/guest.ts";
import { toldBy } from "../vm/outside.ts";
import { complaintOf } from "../vm/verdict.ts";
import { bulkCluster, bulkNodes, type IpvsFigures } from "./ipvs_subject.ts";
import { formatMs, formatRatio, formatTable, median, print } from "./table.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    kernel: { type: "string", default: "6.1" },
    part: { type: "string", default: "" },
  },
});
if (!["", "local"].includes(values.part)) {
  throw new Error(`Cannot measure: no part "${values.part}"`);
}
const isLocal = values.part === "local";
const isEmulated = values.kernel !== userMode;
const kernel = [...kernels, userMode].find((each) => each === values.kernel);
if (kernel === undefined) throw new Error(`Cannot measure: no kernel "${values.kernel}"`);

const script = "tests/vm/record/measure_ipvs.ts";
const LIMIT_SECONDS = 3_600;

const tools = await provideTools();
await using drive = await Drive.create();
await using plane = await ControlPlane.start();
using api = new ApiClient(plane.access);
await api.create(namespaceObject(bulkCluster.namespace));
// Both programs wait half a minute for a Node that is not there.
await api.create(nodeManifest());
const nodeName = isLocal ? bulkNodes.here : bulkNodes.elsewhere;
await api.createAll(bulkCluster.objects({ nodeName }));
const guest = { tools, drive, kernel, plane: plane.access, limitSeconds: LIMIT_SECONDS } as const;
const verdict = (await runGuest({ ...guest, tests: [script] })).get(script);
if (verdict?.kind !== "passed") {
  throw new Error(`Cannot measure: ${verdict ? complaintOf(verdict) : "the guest ran nothing"}`);
}
const figures = toldBy<IpvsFigures>(verdict.output, "measured");
const [ours, theirs] = (["ours", "upstream"] as const).map((name) => {
  const found = figures.find((each) => each.name === name);
  if (found === undefined) throw new Error(`Cannot measure: nothing of "${name}"`);
  return found;
});

/** What the guest costs: the same program without. */
const native = {
  ours: await programAlone(ourProgram()),
  upstream: await programAlone(upstreamProgram()),
};

const lines:
  readonly (readonly [title: string, promise: string, read: (f: IpvsFigures) => number])[] = [
    ["start to the end of the first sync, ms", "≥ 20", (f) => f.firstSyncMs],
    ["  of that the sync of IPv4, as each counts it, ms", "", (f) => f.countedSyncMs],
    ["  from the first set in the kernel to the end, ms", "", (f) => f.writingMs],
    ["  until then, processor time, ms", "", (f) => f.firstSyncCpuMs],
    ["  the program alone (--version), ms", "", (f) => f.programMs],
    ["  the same outside of the guest, ms", "", (f) => native[f.name]],
    ["one change to its effect, ms (median)", "≥ 100", (f) => median(f.changeMs)],
    ["  until the apiserver has it, ms (median)", "", (f) => median(f.requestMs)],
    ["  from then to its effect, ms (median)", "", (f) => median(afterRequests(f))],
    ["restart to the end of the first sync, ms", "", (f) => f.restartMs],
  ];
print(
  `ipvs mode, ${bulkCluster.services} Services x ${bulkCluster.endpoints} endpoints${
    isLocal ? " on this node" : ""
  }, ${isEmulated ? `Linux ${kernel}, emulated` : "User Mode Linux"}:`,
);
print(formatTable(
  [
    { title: "" },
    ...["ours", "upstream", "theirs ÷ ours"].map((title) => ({ title, right: true })),
    {
      title: "promised",
    },
  ],
  lines.map(([title, promise, read]) => [
    title,
    formatMs(read(ours)),
    formatMs(read(theirs)),
    formatRatio(read(theirs) / read(ours)),
    promise,
  ]),
));
print(
  `Of our first sync ${
    formatMs(untilFirstSet(ours))
  } ms pass until the first set is made, which is the start of a ` +
    `program in such a guest and its lists: were the rest nothing, it would be ` +
    `${formatRatio(theirs.firstSyncMs / untilFirstSet(ours))}.`,
);
print(
  `A hundredth of upstream's change would be ${
    formatMs(median(theirs.changeMs) / 100)
  } ms; until the apiserver has it takes ${formatMs(median(ours.requestMs))} ms by itself.`,
);
print(`Our restart with nothing changed wrote ${ours.restartMessages} messages (promised: 0).`);
print(
  `Processes that the proxy started: ours ${
    processesOf(ours)
  } (promised: none in iptables' nft backend; ` +
    `this is ${isEmulated ? "that one" : "the legacy one"}), upstream ${processesOf(theirs)}.`,
);

function processesOf({ forkedNothing }: IpvsFigures): string {
  return forkedNothing ? "none" : "some";
}

function afterRequests({ changeMs, requestMs }: IpvsFigures): readonly number[] {
  return changeMs.map((each, i) => each - requestMs[i]);
}

function untilFirstSet({ firstSyncMs, writingMs }: IpvsFigures): number {
  return firstSyncMs - writingMs;
}

/** The median of some runs on this machine, in milliseconds. */
async function programAlone(program: ProxyProgram | undefined): Promise<number> {
  if (program === undefined) throw new Error("Cannot measure: no kube-proxy of upstream");
  const [command, ...args] = program.argv;
  const times: number[] = [];
  for (let i = 0; i < 5; i++) {
    const before = performance.now();
    await new Deno.Command(command, { args: [...args, "--version"] }).output();
    times.push(performance.now() - before);
  }
  return median(times);
}
