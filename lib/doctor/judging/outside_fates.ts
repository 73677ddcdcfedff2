/** What clients on other machines meet at some ports of this node. */
import { cidrContains, cidrOf, familyOfCanonicalIp, formatIp, parseIp } from "../../base/ip.ts";
import type { FirewallTable } from "../../kernel/firewall/firewall.ts";
import type { ClusterObjects } from "../cluster_objects.ts";
import type { NodeNetwork } from "../facts/node_values.ts";
import { type NodePort, primaryAddresses, withoutIpvs } from "./frontends.ts";
import { counted } from "./findings.ts";
import { goesWithItsMode, proxyTable } from "./kube_names.ts";
import { type PacketFate, walkInput } from "./packet_walk.ts";

/** A port, who asks, and what becomes of it. */
export interface OutsideFate {
  readonly port: NodePort;
  readonly address: string;
  /** `far`: from anywhere; `near`: from the node's own network. */
  readonly from: "far" | "near";
  readonly source: string;
  readonly fate: PacketFate;
}

/** What is walked through. */
export interface OutsideQuestion {
  readonly firewall: readonly FirewallTable[];
  readonly network: NodeNetwork;
  readonly objects: ClusterObjects;
  readonly ports: readonly NodePort[];
}

/** Addresses of nobody, from the ranges for documentation. */
const farSource = { IPv4: "203.0.113.77", IPv6: "2001:db8:113::77" } as const;
/** Rules treat ports alike mostly: of many ports, or where there are many rules, a sample has to do. */
const MOST_PORTS = 40;
const FEWEST_PORTS = 3;
/** So many rules are walked in about a third of a second. */
const MOST_RULES = 500_000;

/**
 * Each port, by each family of the node, from far and from near. Chains that go with the mode that is
 * left are not asked: they will not be there.
 */
export function outsideFates(
  { firewall, network, objects, ports }: OutsideQuestion,
): readonly OutsideFate[] {
  const addresses = primaryAddresses(network, objects);
  const rules = firewall.reduce(
    (sum, { chains }) => sum + chains.reduce((count, each) => count + (each.rules?.length ?? 0), 0),
    1,
  );
  const affordable = Math.floor(MOST_RULES / (rules * Math.max(addresses.length, 1) * 2));
  const sample = sampleOf(ports, Math.min(Math.max(affordable, FEWEST_PORTS), MOST_PORTS));
  return addresses.flatMap((address) => {
    const family = familyOfCanonicalIp(address);
    const own = withoutIpvs(network).addresses.find(({ ip }) => ip === address);
    const near = own && neighbourOf(address, own.prefixLength);
    const sources = [["far", farSource[family]], ...(near ? [["near", near]] : [])] as const;
    return sample.flatMap((port) =>
      sources.map(([from, source]): OutsideFate => ({
        port,
        address,
        from: from === "near" ? "near" : "far",
        source,
        fate: walkInput(firewall, {
          family,
          source,
          destination: address,
          protocol: port.protocol,
          destinationPort: port.port,
          inInterface: own?.linkName ?? "eth0",
        }, {
          ignores: goesWithItsMode,
          ignoresTable: ({ name }) => name === proxyTable,
        }),
      }))
    );
  });
}

function sampleOf(ports: readonly NodePort[], most: number): readonly NodePort[] {
  const distinct = ports.filter((port, at) =>
    ports.findIndex((each) => each.port === port.port && each.protocol === port.protocol) === at
  );
  if (distinct.length <= most) return distinct;
  const step = distinct.length / most;
  return Array.from({ length: most }, (_, at) => distinct[Math.floor(at * step)]);
}

/** Another address of the same network; undefined where the network has no other. */
function neighbourOf(address: string, prefixLength: number): string | undefined {
  const bytes = parseIp(address);
  if (!bytes || prefixLength >= bytes.length * 8 - 1) return undefined;
  const neighbour = bytes.slice();
  const last = neighbour.length - 1;
  neighbour[last] ^= prefixLength >= neighbour.length * 8 - 2 ? 1 : 2;
  return cidrContains(cidrOf(bytes, prefixLength), neighbour) ? formatIp(neighbour) : undefined;
}

/** How many ports are let in, and how many of them were walked. */
export function describeOpen(
  fates: readonly OutsideFate[],
  ports: readonly NodePort[],
): string {
  const walked = new Set(fates.map(({ port }) => `${port.protocol} ${port.port}`)).size;
  const all = new Set(ports.map(({ port, protocol }) => `${protocol} ${port}`)).size;
  return walked === all
    ? `${counted(all, "NodePort")} let in`
    : `A sample of ${walked} of ${all} NodePorts is let in`;
}

/** Of the fates, those that some port has from far, from near, or not for sure. */
export interface FateSummary {
  readonly stopped: readonly OutsideFate[];
  /** Stopped from far alone. */
  readonly onlyNear: readonly OutsideFate[];
  readonly untold: readonly OutsideFate[];
}

/** Sorts them: a port that neither near nor far clients reach is stopped. */
export function summaryOf(fates: readonly OutsideFate[]): FateSummary {
  const far = fates.filter(({ from }) => from === "far");
  const nearOf = (fate: OutsideFate) =>
    fates.find(({ address, from, port }) =>
      from === "near" && port === fate.port && address === fate.address
    );
  const stopped = far.filter(({ fate }) => fate.kind === "stopped");
  return {
    stopped: stopped.filter((each) => nearOf(each)?.fate.kind !== "accepted"),
    onlyNear: stopped.filter((each) => nearOf(each)?.fate.kind === "accepted"),
    untold: far.filter(({ fate }) => fate.kind === "untold"),
  };
}

/** `TCP 30080 of shop/web at 192.168.1.1: stopped by table ip filter, chain INPUT, policy drop`. */
export function describeFate({ address, fate, port, source }: OutsideFate): string {
  const what = `${port.protocol.toUpperCase()} ${port.port} of ${port.service} at ${address}`;
  const of = `from ${source}`;
  switch (fate.kind) {
    case "accepted":
      return `${what}: accepted, ${of}`;
    case "stopped":
      return `${what}: stopped by ${fate.by}, ${of}`;
    case "untold":
      return `${what}: not understood: ${fate.because}`;
  }
}

/** The command that lets these ports in, in the language of whoever stops them. */
export function openingCommands(
  fates: readonly OutsideFate[],
  range: string,
): readonly string[] {
  return [
    ...new Set(fates.flatMap(({ fate, port }) => {
      if (fate.kind !== "stopped") return [];
      const { chain, table } = fate.at;
      const { protocol } = port;
      const withColon = range.replace("-", ":");
      if (table.name.startsWith("firewalld")) {
        return [
          `firewall-cmd --permanent --add-port=${range}/${protocol}`,
          "firewall-cmd --reload",
        ];
      }
      const isIptables = table.engine === "legacy" || /^[A-Z]+$/.test(chain);
      if (!isIptables) {
        const place = `${table.family} ${table.name} ${chain}`;
        return [`nft insert rule ${place} ${protocol} dport ${range} accept`];
      }
      const engine = table.engine === "legacy" ? "legacy" : "nft";
      const tool = `${table.family === "ip6" ? "ip6tables" : "iptables"}-${engine}`;
      const inTable = table.name === "filter" ? "" : `-t ${table.name} `;
      return [`${tool} ${inTable}-I ${chain} -p ${protocol} --dport ${withColon} -j ACCEPT`];
    })),
  ];
}
