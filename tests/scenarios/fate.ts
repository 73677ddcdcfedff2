/**
 * The words of a table of fates: from whom, to what, by which protocol, and what becomes of it.
 * Rows hold for both families; where a fate depends on the set-up, `expected.ts` says how.
 */
import type { Protocol } from "../../lib/base/protocol.ts";
import type { Host } from "./addresses.ts";

/** An endpoint is named `host:port`, where the host may be a copy (`pod-a#3:8080`). */
export type EndpointName = string;

/** What a packet is sent to. */
export type Destination =
  | {
    readonly kind: "cluster-ip" | "external-ip" | "load-balancer-ip";
    readonly service: string;
    readonly port: number;
  }
  /** `second` is an address of the node that is not its InternalIP. `port` is the Service's port. */
  | {
    readonly kind: "node-port";
    readonly service: string;
    readonly port: number;
    readonly at: "first" | "second" | "loopback";
  }
  /** An address of the service range that no Service has. */
  | { readonly kind: "unallocated"; readonly port: number };

/** What should become of it. */
export type Expectation =
  /** Cluster IPs: to one of these. */
  | { readonly kind: "internal"; readonly endpoints: readonly EndpointName[] }
  /** External addresses and node ports with external policy Cluster. */
  | { readonly kind: "external"; readonly endpoints: readonly EndpointName[] }
  /** The same with policy Local: `here` for whoever is outside, `anywhere` for the node and its pods. */
  | {
    readonly kind: "external-local";
    readonly here: readonly EndpointName[];
    readonly anywhere: readonly EndpointName[];
  }
  /** To a pod in the node's own network: nothing is left to masquerade on the way in. */
  | { readonly kind: "host-network"; readonly endpoints: readonly EndpointName[] }
  | { readonly kind: "rejected" }
  | { readonly kind: "dropped" }
  /** No rule takes it: whoever really has the address answers. */
  | { readonly kind: "untouched" };

export interface FateRow {
  readonly from: Host;
  /** The load balancer address itself as source: the node talks to an address bound to it. */
  readonly sourceIsDestination?: boolean;
  readonly to: Destination;
  readonly protocol: Protocol;
  readonly expect: Expectation;
  /** What becomes of it in iptables mode, where that differs. */
  readonly inIptables?: Expectation;
  /** The same for ipvs mode. */
  readonly inIpvs?: Expectation;
  /** Upstream's nftables mode lets it through. */
  readonly oursAlone?: boolean;
  /** Repeated connections all meet the same endpoint. */
  readonly sticky?: boolean;
}

/** Unique in a table, and what a person wants to read. */
export function nameOfRow(row: FateRow): string {
  const source = row.sourceIsDestination ? " as the load balancer address" : "";
  return `${row.from}${source} -> ${nameOfDestination(row.to)} ${row.protocol}`;
}

function nameOfDestination(to: Destination): string {
  switch (to.kind) {
    case "unallocated":
      return `an unallocated cluster IP:${to.port}`;
    case "node-port":
      return `${to.service} node port of ${to.port} at the ${to.at} address`;
    case "cluster-ip":
    case "external-ip":
    case "load-balancer-ip":
      return `${to.service} ${to.kind}:${to.port}`;
  }
}
