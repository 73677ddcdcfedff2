/** How a scenario describes Services, shorter than the API's objects; `manifests.ts` spells them out. */
import type { Protocol } from "../../lib/base/protocol.ts";
import type { IpFamily } from "../../lib/base/ip_family.ts";
import { type Host, hostAddresses } from "./addresses.ts";

/** One endpoint of all ports of a Service. Conditions default to those of a healthy pod. */
export interface EndpointDescription {
  readonly host: Host;
  /** One of more pods beside the host's own, which no namespace has: for rules that nobody sends packets to. */
  readonly copy?: number;
  readonly ready?: boolean;
  readonly serving?: boolean;
  readonly terminating?: boolean;
  readonly zoneHints?: readonly string[];
  readonly nodeHints?: readonly string[];
}

export interface PortDescription {
  readonly port: number;
  readonly protocol: Protocol;
  readonly targetPort: number;
}

/** Everything not given is off, absent, or the API server's default. */
export interface ServiceDescription {
  readonly name: string;
  /** Gives it all its addresses and node ports: see `addresses.ts`. */
  readonly number: number;
  readonly type: "ClusterIP" | "NodePort" | "LoadBalancer";
  readonly ports: readonly PortDescription[];
  readonly endpoints: readonly EndpointDescription[];
  readonly externalIP?: boolean;
  readonly externalTrafficPolicy?: "Cluster" | "Local";
  readonly internalTrafficPolicy?: "Cluster" | "Local";
  readonly ipMode?: "VIP" | "Proxy";
  /** CIDRs of both families. */
  readonly sourceRanges?: readonly string[];
  readonly affinitySeconds?: number;
  readonly publishNotReadyAddresses?: boolean;
  readonly headless?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
  /** Endpoints are split into slices of so many. */
  readonly endpointsPerSlice?: number;
}

/**
 * The node port of a Service's port. Equal ports of different protocols have the same one, which is
 * the only case in which the API server lets two ports share it.
 */
export function nodePortOf(service: ServiceDescription, port: PortDescription): number {
  if (service.type === "ClusterIP") return 0;
  const distinct = [...new Set(service.ports.map((each) => each.port))];
  return 30_000 + service.number + 1000 * distinct.indexOf(port.port);
}

/** `pod-a`, or `pod-a#3` for a copy. */
export function endpointHostName({ host, copy }: EndpointDescription): string {
  return copy === undefined ? host : `${host}#${copy}`;
}

export function endpointAddress({ host, copy }: EndpointDescription, family: IpFamily): string {
  const own = hostAddresses[host][family];
  if (copy === undefined) return own;
  const separator = family === "IPv4" ? "." : ":";
  return `${own.slice(0, own.lastIndexOf(separator))}${separator}${100 + copy}`;
}

/** The Node whose pods run on the host. */
export function nodeNameOf(host: Host): "node" | "remote-node" {
  return host === "remote-pod" || host === "remote-node" ? "remote-node" : "node";
}

/** The zone of each node. */
export const zones = { node: "zone-a", "remote-node": "zone-b" } as const;
