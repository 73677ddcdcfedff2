/** The kernel's connections. */
import type { FlowFilter } from "../../../../lib/kernel/conntrack/conntrack.ts";
import { NetlinkConntrack } from "../../../../lib/kernel/conntrack/netlink_conntrack.ts";
import type { Dialogue } from "./dialogue.ts";

interface Entry {
  readonly client: string;
  readonly destination: string;
  readonly endpoint: string;
  readonly clientPort?: number;
  readonly port?: number;
  readonly protocol?: "tcp" | "udp";
}

const dns = { destination: "172.30.0.10", endpoint: "10.128.1.9" };
const dns6 = { destination: "fd00:172:30::a", endpoint: "fd00:10:128::9" };

const entries: readonly Entry[] = [
  { ...dns, client: "10.128.0.5" },
  { ...dns, client: "10.128.0.5", clientPort: 4001 },
  { ...dns, client: "10.128.0.6", destination: "172.30.0.11" },
  { ...dns, client: "192.168.0.9", destination: "192.168.0.2", port: 30_053 },
  { ...dns, client: "10.128.0.7", protocol: "tcp" },
  { ...dns6, client: "fd00:10:128::5" },
  { ...dns6, client: "fd00:10:128::6", destination: "fd00:172:30::b" },
];

const prepare = entries.map((entry) => {
  const { client, clientPort = 4000, destination, endpoint, port = 53, protocol = "udp" } = entry;
  return [
    `conntrack -I -s ${client} -d ${destination} -r ${endpoint} -q ${client} -p ${protocol}`,
    `--sport ${clientPort} --dport ${port} --reply-port-src 5353`,
    `--reply-port-dst ${clientPort} -t 600${protocol === "tcp" ? " --state ESTABLISHED" : ""}`,
  ].join(" ");
});

const udp = { family: "IPv4", protocol: 17 } as const;
const udp6 = { family: "IPv6", protocol: 17 } as const;

/** Everything that is left, without the kernel's numbers. */
async function left(conntrack: NetlinkConntrack, filter: FlowFilter): Promise<string[]> {
  const { complete, flows } = await conntrack.list(filter);
  return [
    ...complete ? [] : ["torn"],
    ...flows.map(({ family, original: o, protocol, reply: r, zone }) =>
      `${family} ${protocol} ${zone} ${o.source} ${o.sourcePort} ${o.destination} ` +
      `${o.destinationPort} / ${r.source} ${r.sourcePort} ${r.destination} ${r.destinationPort}`
    ),
  ].sort();
}

const listed: readonly (readonly [name: string, filter: FlowFilter])[] = [
  ["UDP", udp],
  ["TCP", { family: "IPv4", protocol: 6 }],
  ["UDP over IPv6", udp6],
  ["a destination", { ...udp, destination: "172.30.0.10" }],
  ["a destination of IPv6", { ...udp6, destination: "fd00:172:30::b" }],
  ["a port", { ...udp, destinationPort: 30_053 }],
  ["nothing", { ...udp, destination: "172.30.0.10", destinationPort: 54 }],
];

/** All talks with conntrack. */
export const conntrackDialogues: readonly Dialogue[] = [
  ...listed.map(([name, filter]) => ({
    name: `conntrack: entries of ${name}`,
    prepare,
    hold: () => left(new NetlinkConntrack(), filter),
  })),
  {
    name: "conntrack: only what the caller wants",
    prepare,
    async hold() {
      const wanted = ({ original }: { original: { sourcePort: number } }) =>
        original.sourcePort === 4001;
      const { flows } = await new NetlinkConntrack().list(udp, { wanted });
      return flows.map(({ original }) => original);
    },
  },
  {
    name: "conntrack: entries are removed, those that are gone are not counted",
    prepare,
    async hold() {
      const conntrack = new NetlinkConntrack();
      const { flows } = await conntrack.list(udp);
      const others = flows.map((flow) => ({ ...flow, id: (flow.id ^ 1) >>> 0 }));
      const removed = [
        await conntrack.remove([]),
        await conntrack.remove(others),
        await conntrack.remove(flows.slice(0, 2)),
        await conntrack.remove(flows),
      ];
      return [removed, await left(conntrack, udp)];
    },
  },
];
