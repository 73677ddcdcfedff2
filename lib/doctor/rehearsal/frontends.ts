/**
 * Where a Service answers, and what has to become of a new connection there. This is worked out from
 * the snapshot alone and knows no rule, so that it and the rules can disagree.
 */
import { cidrContains, joinHostPort, parseCidr, parseIp } from "../../base/ip.ts";
import type { Protocol } from "../../base/protocol.ts";
import type { Endpoint, Fate, ServicePort, Snapshot } from "../../snapshot/snapshot.ts";

/** The kinds of addresses that a Service answers at. */
export type FrontendKind = "cluster IP" | "external IP" | "load balancer" | "node port";

/** One address and port of one Service. */
export interface Frontend {
  readonly kind: FrontendKind;
  readonly ip: string;
  readonly port: number;
  readonly protocol: Protocol;
  readonly service: ServicePort;
}

/** What has to become of a connection. */
export type Expectation =
  | {
    readonly kind: "endpoint";
    /** `ip:port` of each that may get it. */
    readonly endpoints: ReadonlySet<string>;
    /** Whether the endpoint sees the client's address; undefined where either is right. */
    readonly masqueraded: boolean | undefined;
  }
  | { readonly kind: "refused" }
  | { readonly kind: "nothing" };

/** `10.96.0.10:53/UDP` */
export function describeFrontend({ ip, port, protocol }: Frontend): string {
  return `${joinHostPort(ip, port)}/${protocol}`;
}

/** All of a snapshot, in its order; node ports at each of the given addresses. */
export function frontendsOf(
  { services }: Snapshot,
  nodeAddresses: readonly string[],
): readonly Frontend[] {
  return [...services.values()].flatMap((service) => {
    const { clusterIP, externalIPs, loadBalancerVIPs, nodePort, port, protocol } = service;
    const at = (kind: FrontendKind, ips: readonly string[], number = port) =>
      ips.map((ip): Frontend => ({ kind, ip, port: number, protocol, service }));
    return [
      ...at("cluster IP", clusterIP === "" ? [] : [clusterIP]),
      ...at("external IP", externalIPs),
      ...at("load balancer", loadBalancerVIPs),
      ...at("node port", nodePort === 0 ? [] : nodeAddresses, nodePort),
    ];
  });
}

/** What has to become of a connection from outside of the node and of its pods. */
export function expectFromOutside(
  { kind, service }: Frontend,
  { client, settings }: { readonly client: string } & Pick<Snapshot, "settings">,
): Expectation {
  if (kind === "cluster IP") {
    const masqueraded = settings.masqueradeAll || settings.localTraffic.kind !== "unknown";
    const endpoints = service.internalPolicyLocal
      ? service.localEndpoints
      : service.clusterEndpoints;
    return expect(service.internal, endpoints, masqueraded);
  }
  if (kind === "load balancer" && !isAllowed(service.sourceRanges, client)) {
    return { kind: "nothing" };
  }
  return service.externalPolicyLocal
    ? expect(service.external, service.localEndpoints, settings.masqueradeAll ? undefined : false)
    : expect(service.external, service.clusterEndpoints, true);
}

/** What has to become of one of the node itself; undefined where it depends on more. */
export function expectFromNode({ kind, service }: Frontend): Expectation | undefined {
  if (kind === "load balancer" && service.sourceRanges.length > 0) return undefined;
  const endpoints = kind === "cluster IP" && service.internalPolicyLocal
    ? service.localEndpoints
    : service.clusterEndpoints;
  const fate = kind === "cluster IP" ? service.internal : service.external;
  if (endpoints.length === 0 || fate !== "forward") return undefined;
  return expect("forward", endpoints, undefined);
}

function expect(
  fate: Fate,
  endpoints: readonly Endpoint[],
  masqueraded: boolean | undefined,
): Expectation {
  if (fate === "drop") return { kind: "nothing" };
  if (fate === "reject") return { kind: "refused" };
  const names = endpoints.map(({ ip, port }) => joinHostPort(ip, port));
  return { kind: "endpoint", endpoints: new Set(names), masqueraded };
}

function isAllowed(ranges: readonly string[], client: string): boolean {
  const address = parseIp(client);
  return ranges.length === 0 || ranges.some((range) => {
    const cidr = parseCidr(range);
    return cidr !== undefined && address !== undefined && cidrContains(cidr, address);
  });
}
