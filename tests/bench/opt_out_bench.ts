/**
 * What opting namespaces out saves one proxy, and what the switch costs: bytes and objects from the
 * apiserver, CPU, memory and rules, the same cluster without and with the label.
 *   scripts/bench opt_out [--services=10000] [--namespaces=100] [--out=90] [--seconds=20]
 */
import { parseArgs } from "node:util";
import { OptOutCluster } from "../controlplane/rig/opt_out_cluster.ts";
import {
  type ChurnFigures,
  measureChurn,
  measureStart,
  measureSwitch,
  ReliefCluster,
  type StartFigures,
} from "./opt_out_measurement.ts";
import { formatMs, formatRatio, formatTable, print } from "./table.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    services: { type: "string", default: "10000" },
    namespaces: { type: "string", default: "100" },
    out: { type: "string", default: "90" },
    endpoints: { type: "string", default: "10" },
    seconds: { type: "string", default: "20" },
  },
});
const size = {
  namespaces: Number(values.namespaces),
  optedOut: Number(values.out),
  services: Number(values.services),
  endpoints: Number(values.endpoints),
};
const churn = { perSecond: 100, seconds: Number(values.seconds) };

/** A row of the table: how to read it, and how to print it. */
type Row = readonly [what: string, without: number, with_: number, format: (n: number) => string];

const whole = (value: number) => Math.round(value).toLocaleString("en-US");
const seconds = (value: number) => `${value.toFixed(2)} s`;
const megabytes = (value: number) => `${value.toFixed(0)} MB`;

function rowsOf(
  start: { readonly without: StartFigures; readonly with: StartFigures },
  change: { readonly without: ChurnFigures; readonly with: ChurnFigures },
): readonly Row[] {
  const both = <T>(pair: { readonly without: T; readonly with: T }, read: (one: T) => number) =>
    [read(pair.without), read(pair.with)] as const;
  const during = `during ${change.with.changes} changes in ${churn.seconds} s`;
  return [
    ["at start: bytes received (ours)", ...both(start, ({ bytes }) => bytes), whole],
    ["at start: objects received (ours)", ...both(start, ({ objects }) => objects), whole],
    [
      "at start: bytes of lists, compressed (apiserver)",
      ...both(start, (f) => f.serverBytes),
      whole,
    ],
    ["at start: objects listed (apiserver)", ...both(start, (f) => f.serverObjects), whole],
    ["at start: rules and elements in the kernel", ...both(start, ({ rules }) => rules), whole],
    ["at start: CPU", ...both(start, ({ cpuSeconds }) => cpuSeconds), seconds],
    ["at start: until in sync", ...both(start, ({ startMs }) => startMs / 1000), seconds],
    ["in sync: resident memory", ...both(start, ({ residentMb }) => residentMb), megabytes],
    [
      `${during}: bytes received, bookmarks included (ours)`,
      ...both(change, (f) => f.bytes),
      whole,
    ],
    [`${during}: bytes of events to the same watch`, ...both(change, (f) => f.witnessBytes), whole],
    [`${during}: CPU`, ...both(change, ({ cpuSeconds }) => cpuSeconds), seconds],
  ];
}

await using cluster = await OptOutCluster.create();
const relief = new ReliefCluster(size);
await relief.create(cluster.api);

const before = await measureStart(cluster);
const busy = await measureChurn(cluster, relief, { ...churn, proxy: before.proxy, excluded: [] });
await before.proxy.end("SIGTERM");
await relief.labelAll(cluster, "disabled");
const after = await measureStart(cluster);
const quiet = await measureChurn(cluster, relief, {
  ...churn,
  proxy: after.proxy,
  excluded: relief.outNames,
});
await after.proxy.end("SIGTERM");

print(
  `${whole(size.services)} Services with ${size.endpoints} endpoints each in ${size.namespaces} ` +
    `namespaces, ${size.optedOut} of them opted out; one proxy in nftables mode.\n`,
);
const rows = rowsOf(
  { without: before.figures, with: after.figures },
  { without: busy, with: quiet },
);
print(formatTable(
  [
    { title: "" },
    { title: "without the label", right: true },
    { title: "with the label", right: true },
    { title: "less", right: true },
  ],
  rows.map(([what, without, with_, format]) => [
    what,
    format(without),
    format(with_),
    with_ === 0 ? "all" : formatRatio(without / with_),
  ]),
));

// The switch where it is dearest: everything is served, one namespace goes and comes back.
await relief.labelAll(cluster, null);
const full = await measureStart(cluster);
const change = await measureSwitch(cluster, relief, { index: 0, others: [1, 2] });
await full.proxy.end("SIGTERM");
const { load } = change;
const failed = Object.values(load.failed).reduce((sum, count) => sum + count, 0);
print(
  `\nOne namespace of ${size.services / size.namespaces} Services, all ${
    whole(size.services)
  } served: ` +
    `opted out after ${formatMs(change.outMs)} ms, back after ${formatMs(change.inMs)} ms; ` +
    `${change.clusterLists} lists of all namespaces, ${change.namespaceLists} of one, ` +
    `${change.objectsForOptOut} objects received to go and ${change.objectsForOptIn} to come back; ` +
    `${failed} of ${load.attempts} connections to other namespaces' addresses failed (200 a second).`,
);
