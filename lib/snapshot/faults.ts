/**
 * Service ports that cannot be written at all. The snapshot should hold none; one that slips through
 * must not keep all others from being served.
 */
import type { IpFamily } from "../base/ip_family.ts";
import type { ServicePort, ServicePortKey } from "./snapshot.ts";

/** What is wrong with the service port, or undefined. */
export function faultOf(servicePort: ServicePort, family: IpFamily): string | undefined {
  const { clusterIP, externalIPs, loadBalancerVIPs, nodePort, port, sourceRanges } = servicePort;
  const endpoints = [
    servicePort.clusterEndpoints,
    servicePort.localEndpoints,
    servicePort.nodeEndpoints,
  ];
  const isIpv6 = family === "IPv6";
  for (
    const addresses of [
      clusterIP === "" ? [] : [clusterIP],
      externalIPs,
      loadBalancerVIPs,
      sourceRanges,
    ]
  ) {
    for (const address of addresses) {
      if (address.includes(":") !== isIpv6) return `"${address}" is not of family ${family}`;
    }
  }
  for (const list of endpoints) {
    for (const endpoint of list) {
      if (endpoint.ip.includes(":") !== isIpv6) {
        return `endpoint "${endpoint.ip}" is not of family ${family}`;
      }
      if (!isPort(endpoint.port)) return `endpoint port ${endpoint.port} is out of range`;
    }
  }
  if (!isPort(port)) return `port ${port} is out of range`;
  return nodePort === 0 || isPort(nodePort) ? undefined : `node port ${nodePort} is out of range`;
}

/** The service ports that can be written, and what is wrong with the others. */
export function withoutFaults(
  services: ReadonlyMap<ServicePortKey, ServicePort>,
  family: IpFamily,
): {
  readonly sound: ReadonlyMap<ServicePortKey, ServicePort>;
  readonly faults: ReadonlyMap<ServicePortKey, string>;
} {
  const faults = new Map<ServicePortKey, string>();
  for (const [key, servicePort] of services) {
    const fault = faultOf(servicePort, family);
    if (fault !== undefined) faults.set(key, fault);
  }
  if (faults.size === 0) return { sound: services, faults };
  return { sound: new Map([...services].filter(([key]) => !faults.has(key))), faults };
}

function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65_535;
}
