/**
 * What becomes of packets to a Service, worked out from its description: a second, simple telling of
 * the semantics, for clusters that nobody wrote a table for. It favours plainness over speed, and
 * agrees with the hand-written table (there is a test).
 */
import { cidrContains, parseCidr, parseIp } from "../../lib/base/ip.ts";
import type { IpFamily } from "../../lib/base/ip_family.ts";
import { type Host, hostAddresses } from "./addresses.ts";
import {
  type EndpointDescription,
  endpointHostName,
  nodeNameOf,
  type PortDescription,
  type ServiceDescription,
  zones,
} from "./description.ts";
import type { Expectation } from "./fate.ts";

/** How a Service is addressed. */
export type FrontendKind = "cluster-ip" | "external-ip" | "load-balancer-ip" | "node-port";

/** The frontends that a Service has. */
export function frontendsOf(service: ServiceDescription): readonly FrontendKind[] {
  if (!isProxied(service)) return [];
  const kinds: FrontendKind[] = ["cluster-ip"];
  if (service.externalIP) kinds.push("external-ip");
  if (service.type === "LoadBalancer" && service.ipMode !== "Proxy") kinds.push("load-balancer-ip");
  if (service.type !== "ClusterIP") kinds.push("node-port");
  return kinds;
}

/** What becomes of a packet from the host to that frontend of that port. */
export function expectationOf(
  service: ServiceDescription,
  packet: {
    readonly from: Host;
    readonly to: FrontendKind;
    readonly port: PortDescription;
    readonly family: IpFamily;
    /** The node's own; that of `nodeManifest` when absent. */
    readonly zone?: string;
  },
): Expectation {
  const { from, to, port, family, zone = zones.node } = packet;
  if (to === "load-balancer-ip" && !isAllowed(service, from, family)) return { kind: "dropped" };
  const name = (endpoint: EndpointDescription) =>
    `${endpointHostName(endpoint)}:${port.targetPort}`;
  const everywhere = clusterEndpoints(service, zone);
  const here = localEndpoints(service);
  const isLocalOnly = to === "cluster-ip"
    ? service.internalTrafficPolicy === "Local"
    : service.externalTrafficPolicy === "Local";
  if (!anyCanServe(service)) return { kind: "rejected" };
  if (to === "cluster-ip") {
    const endpoints = isLocalOnly ? here : everywhere;
    return endpoints.length === 0
      ? { kind: "dropped" }
      : { kind: "internal", endpoints: endpoints.map(name) };
  }
  if (!isLocalOnly) return { kind: "external", endpoints: everywhere.map(name) };
  return { kind: "external-local", here: here.map(name), anywhere: everywhere.map(name) };
}

/** Some Services are other proxies' business. */
function isProxied(service: ServiceDescription): boolean {
  return !service.headless &&
    service.labels?.["service.kubernetes.io/service-proxy-name"] === undefined;
}

const isReady = (endpoint: EndpointDescription) => endpoint.ready ?? true;

/** Still answers while it goes: good enough when nobody better is left. */
const isLeaving = (endpoint: EndpointDescription) =>
  (endpoint.serving ?? true) && (endpoint.terminating ?? false);

function anyCanServe({ endpoints }: ServiceDescription): boolean {
  return endpoints.some((endpoint) => isReady(endpoint) || isLeaving(endpoint));
}

function localEndpoints({ endpoints }: ServiceDescription): readonly EndpointDescription[] {
  const local = endpoints.filter((endpoint) => nodeNameOf(endpoint.host) === "node");
  return local.some(isReady) ? local.filter(isReady) : local.filter(isLeaving);
}

function clusterEndpoints(
  { endpoints }: ServiceDescription,
  zone: string,
): readonly EndpointDescription[] {
  const ready = endpoints.filter(isReady);
  if (ready.length === 0) return endpoints.filter(isLeaving);
  return nearest(ready, (endpoint) => endpoint.nodeHints, "node") ??
    nearest(ready, (endpoint) => endpoint.zoneHints, zone) ?? ready;
}

/** Those hinted at here; undefined when one of them has no hint, or none is hinted at here. */
function nearest(
  endpoints: readonly EndpointDescription[],
  hints: (endpoint: EndpointDescription) => readonly string[] | undefined,
  here: string,
): readonly EndpointDescription[] | undefined {
  if (endpoints.some((endpoint) => (hints(endpoint) ?? []).length === 0)) return undefined;
  const near = endpoints.filter((endpoint) => hints(endpoint)?.includes(here));
  return near.length === 0 ? undefined : near;
}

/** Ranges of the other family alone allow everybody, as does a range of everything. */
function isAllowed(service: ServiceDescription, from: Host, family: IpFamily): boolean {
  const ranges = (service.sourceRanges ?? []).map((text) => parseCidr(text.trim()))
    .filter((range) => range?.family === family);
  if (ranges.length === 0 || ranges.some((range) => range?.prefixLength === 0)) return true;
  const address = parseIp(hostAddresses[from][family]);
  return ranges.some((range) => range && address && cidrContains(range, address));
}
