/**
 * The sets and maps of the table. A Service is only elements of these; no chain is made for it
 * unless it has session affinity. Thousands of chains with anonymous maps would be quadratic in the
 * kernel, elements are not.
 */
import type { NftSet } from "../../kernel/nftables/operations.ts";
import type { Protocol } from "../../base/protocol.ts";
import type { EndpointMap } from "./names.ts";

/**
 * From what is looked up last to what is looked up first. Elements are added in this order and
 * removed in the opposite one, so that a lookup never leads to something that is not there.
 */
export const setNames = [
  "hairpin-connections",
  "cluster-ips",
  "firewall-allow-sctp",
  "firewall-allow-tcp",
  "firewall-allow-udp",
  "endpoints",
  "local-endpoints",
  "nodeport-endpoints",
  "nodeport-local-endpoints",
  "cluster-picks",
  "local-picks",
  "nodeport-cluster-picks",
  "nodeport-local-picks",
  "no-endpoint-services",
  "no-endpoint-nodeports",
  "firewall-ips",
  "nodeport-ips",
  "service-ips",
  "service-nodeports",
] as const;

/** The sets that are always there. */
export type StaticSetName = typeof setNames[number];

/** A set with elements that Services put there: always there, or one more map of endpoints. */
export type SetName = StaticSetName | `${EndpointMap}-${number}`;

/** The sets of source ranges; one for each protocol, because `nft` refuses the protocol inside. */
export const allowSets: Readonly<Record<Protocol, StaticSetName>> = {
  SCTP: "firewall-allow-sctp",
  TCP: "firewall-allow-tcp",
  UDP: "firewall-allow-udp",
};

/** The other way round. */
export const protocolOfAllowSet: ReadonlyMap<SetName, Protocol> = new Map(
  (["SCTP", "TCP", "UDP"] as const).map((protocol) => [allowSets[protocol], protocol]),
);

const address = ["addr", "inet_proto", "inet_service"] as const;
const nodePort = ["inet_proto", "inet_service"] as const;
const endpoint = ["addr", "inet_service"] as const;
const verdict = "verdict";

/** What each is made of, and what it is for. */
export const sets: Readonly<Record<StaticSetName, NftSet>> = {
  "hairpin-connections": {
    name: "hairpin-connections",
    key: ["addr", "addr", "inet_proto", "inet_service"],
    comment: "endpoints of this node, from themselves to themselves",
  },
  "cluster-ips": { name: "cluster-ips", key: ["addr"], comment: "cluster IPs in use" },
  "firewall-allow-sctp": allowSet("firewall-allow-sctp"),
  "firewall-allow-tcp": allowSet("firewall-allow-tcp"),
  "firewall-allow-udp": allowSet("firewall-allow-udp"),
  "endpoints": {
    name: "endpoints",
    key: [...address, "index"],
    value: endpoint,
    comment: "endpoints of an address, counted from 0",
  },
  "local-endpoints": {
    name: "local-endpoints",
    key: [...address, "index"],
    value: endpoint,
    comment: "endpoints of an address on this node, counted from 0",
  },
  "nodeport-endpoints": {
    name: "nodeport-endpoints",
    key: [...nodePort, "index"],
    value: endpoint,
    comment: "endpoints of a node port, counted from 0",
  },
  "nodeport-local-endpoints": {
    name: "nodeport-local-endpoints",
    key: [...nodePort, "index"],
    value: endpoint,
    comment: "endpoints of a node port on this node, counted from 0",
  },
  "cluster-picks": {
    name: "cluster-picks",
    key: address,
    value: verdict,
    comment: "external address to the choice among all endpoints",
  },
  "local-picks": {
    name: "local-picks",
    key: address,
    value: verdict,
    comment: "external address to the choice among endpoints of this node",
  },
  "nodeport-cluster-picks": {
    name: "nodeport-cluster-picks",
    key: nodePort,
    value: verdict,
    comment: "node port to the choice among all endpoints",
  },
  "nodeport-local-picks": {
    name: "nodeport-local-picks",
    key: nodePort,
    value: verdict,
    comment: "node port to the choice among endpoints of this node",
  },
  "no-endpoint-services": {
    name: "no-endpoint-services",
    key: address,
    value: verdict,
    comment: "addresses that nobody serves",
  },
  "no-endpoint-nodeports": {
    name: "no-endpoint-nodeports",
    key: nodePort,
    value: verdict,
    comment: "node ports that nobody serves",
  },
  "firewall-ips": {
    name: "firewall-ips",
    key: address,
    value: verdict,
    comment: "load balancer addresses with source ranges",
  },
  "nodeport-ips": {
    name: "nodeport-ips",
    key: ["addr"],
    comment: "addresses that answer on node ports, where not all do",
  },
  "service-ips": {
    name: "service-ips",
    key: address,
    value: verdict,
    comment: "address of a Service to what happens",
  },
  "service-nodeports": {
    name: "service-nodeports",
    key: nodePort,
    value: verdict,
    comment: "node port of a Service to what happens",
  },
};

/** Sets whose elements several service ports may need: they are counted. */
export function isShared(set: SetName): boolean {
  return set === "cluster-ips" || set === "hairpin-connections";
}

/**
 * Sets that a packet meets after the choice of its endpoint. One that is between the two while that
 * endpoint goes must still find it: what it meets decides the fate of its whole connection.
 */
export function isMetLater(set: SetName): boolean {
  return set === "hairpin-connections";
}

function allowSet(name: StaticSetName): NftSet {
  return {
    name,
    key: ["addr", "inet_service", "addr"],
    interval: true,
    comment: "load balancer address, port, and who may come",
  };
}
