import type { Endpoint, ServicePort } from "../../lib/snapshot/snapshot.ts";

/** An endpoint from `ip:port` (`[ip]:port`), local unless told otherwise. */
export function endpointOf(text: string, isLocal = true): Endpoint {
  const colon = text.lastIndexOf(":");
  const ip = text.slice(0, colon).replace(/^\[|\]$/g, "");
  return { ip, port: Number(text.slice(colon + 1)), isLocal };
}

/** A service port of Service `test/name` with everything left to defaults; its key is made of its names. */
export function servicePortOf(rest: Partial<ServicePort>): ServicePort {
  const { name = "web", portName = "", protocol = "TCP" } = rest;
  return {
    key: `test/${name}${portName === "" ? "" : `:${portName}`}/${protocol}`,
    namespace: "test",
    name,
    portName,
    protocol,
    clusterIP: "172.30.1.1",
    port: 80,
    externalIPs: [],
    loadBalancerVIPs: [],
    nodePort: 0,
    sourceRanges: [],
    sourceRangesHoldNode: false,
    affinitySeconds: 0,
    internalPolicyLocal: false,
    externalPolicyLocal: false,
    externallyAccessible: false,
    internal: "reject",
    external: "reject",
    hasEndpoints: false,
    clusterEndpoints: [],
    localEndpoints: [],
    reachableEndpoints: [],
    nodeEndpoints: [],
    endpointCount: rest.clusterEndpoints?.length ?? 0,
    servingEndpoints: [],
    healthCheckNodePort: 0,
    ...rest,
  };
}
