/** What a namespace's Services and EndpointSlices amount to: all that stops when it is opted out. */
import type { EndpointSlice, Service } from "../kube/objects.ts";

export interface Inventory {
  /** Proxied Services by type; an ExternalName is nobody's to proxy. */
  readonly services: Readonly<Record<ProxiedType, number>>;
  readonly frontends: Frontends;
  /** Services whose clients stay with their endpoint. */
  readonly sessionAffinity: number;
  /** Distinct addresses of endpoints. */
  readonly endpoints: number;
  /** What every proxy receives for it: Services and EndpointSlices. */
  readonly objects: number;
  /** Addresses with port and protocol that every proxy programs. */
  readonly programmedFrontends: number;
  /** Endpoints with port that every proxy programs, once for each Service. */
  readonly programmedEndpoints: number;
}

export type ProxiedType = "ClusterIP" | "LoadBalancer" | "NodePort";

/** Addresses and ports that answer no more; each list is sorted and without repetition. */
export interface Frontends {
  readonly clusterIPs: readonly string[];
  readonly externalIPs: readonly string[];
  readonly healthCheckNodePorts: readonly number[];
  readonly loadBalancerIPs: readonly string[];
  /** Such as `30080/TCP`. */
  readonly nodePorts: readonly string[];
}

/** Counts what the proxies would be given of one namespace. */
export function takeInventory(
  services: readonly Service[],
  slices: readonly EndpointSlice[],
): Inventory {
  const proxied = services.filter(isProxied);
  const counts = { ClusterIP: 0, LoadBalancer: 0, NodePort: 0 };
  for (const { type } of proxied) if (type !== "ExternalName") counts[type]++;
  const names = new Set(proxied.map(({ name }) => name));
  const served = slices.filter(({ serviceName }) => names.has(serviceName));
  const addresses = served.flatMap(addressesOf);
  return {
    services: counts,
    frontends: frontendsOf(proxied),
    sessionAffinity: proxied.filter(({ affinitySeconds }) => affinitySeconds > 0).length,
    endpoints: new Set(addresses).size,
    objects: services.length + slices.length,
    programmedFrontends: sum(proxied.map(countFrontends)),
    programmedEndpoints: sum(served.map((slice) => addressesOf(slice).length * slice.ports.length)),
  };
}

/** All of them together. Addresses are of one namespace each, so nothing is counted twice. */
export function addInventories(all: readonly Inventory[]): Inventory {
  const total = (read: (one: Inventory) => number) => sum(all.map(read));
  return {
    services: {
      ClusterIP: total(({ services }) => services.ClusterIP),
      LoadBalancer: total(({ services }) => services.LoadBalancer),
      NodePort: total(({ services }) => services.NodePort),
    },
    frontends: {
      clusterIPs: all.flatMap(({ frontends }) => frontends.clusterIPs).sort(),
      externalIPs: distinct(all.flatMap(({ frontends }) => frontends.externalIPs)),
      healthCheckNodePorts: all.flatMap(({ frontends }) => frontends.healthCheckNodePorts)
        .sort((a, b) => a - b),
      loadBalancerIPs: distinct(all.flatMap(({ frontends }) => frontends.loadBalancerIPs)),
      nodePorts: all.flatMap(({ frontends }) => frontends.nodePorts).sort(),
    },
    sessionAffinity: total(({ sessionAffinity }) => sessionAffinity),
    endpoints: total(({ endpoints }) => endpoints),
    objects: total(({ objects }) => objects),
    programmedFrontends: total(({ programmedFrontends }) => programmedFrontends),
    programmedEndpoints: total(({ programmedEndpoints }) => programmedEndpoints),
  };
}

/** How many Services stop. */
export function countServices({ services }: Inventory): number {
  return sum(Object.values(services));
}

function isProxied({ type, clusterIP, otherProxy }: Service): boolean {
  return type !== "ExternalName" && clusterIP !== "" && clusterIP !== "None" && !otherProxy;
}

function clusterIPsOf({ clusterIP, clusterIPs }: Service): readonly string[] {
  return clusterIPs.length > 0 ? clusterIPs : [clusterIP];
}

function frontendsOf(services: readonly Service[]): Frontends {
  return {
    clusterIPs: distinct(services.flatMap(clusterIPsOf)),
    externalIPs: distinct(services.flatMap(({ externalIPs }) => externalIPs)),
    healthCheckNodePorts: [
      ...new Set(services.map(({ healthCheckNodePort }) => healthCheckNodePort)),
    ].filter((port) => port > 0).sort((a, b) => a - b),
    loadBalancerIPs: distinct(services.flatMap(({ ingress }) => ingress.map(({ ip }) => ip))),
    nodePorts: distinct(services.flatMap(nodePortsOf)),
  };
}

function nodePortsOf({ ports }: Service): readonly string[] {
  return ports.filter(({ nodePort }) => nodePort > 0)
    .map(({ nodePort, protocol }) => `${nodePort}/${protocol}`);
}

function countFrontends(service: Service): number {
  const { externalIPs, ingress, ports } = service;
  const addresses = clusterIPsOf(service).length + externalIPs.length + ingress.length;
  return addresses * ports.length + nodePortsOf(service).length;
}

function addressesOf({ endpoints }: EndpointSlice): readonly string[] {
  return endpoints.map(({ address }) => address).filter((address) => address !== "");
}

function distinct(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].sort();
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
