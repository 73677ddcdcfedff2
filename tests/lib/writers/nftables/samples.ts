/** Service ports and snapshots for the tests of this mode, in the address plan of all tests. */
import type { IpFamily } from "../../../../lib/base/ip_family.ts";
import type { Protocol } from "../../../../lib/base/protocol.ts";
import type {
  Endpoint,
  FamilySettings,
  ServicePort,
  Snapshot,
} from "../../../../lib/snapshot/snapshot.ts";
import { servicePortOf } from "../../../fakes/service_ports.ts";

const podRange = { IPv4: "10.128.0.0/14", IPv6: "fd00:10:128::/48" } as const;
const serviceRange = { IPv4: "172.30.0.0/16", IPv6: "fd00:172:30::/108" } as const;

/** Addresses of one family by number. */
export interface Addresses {
  pod(node: number, number: number): string;
  clusterIP(number: number): string;
  node(number: number): string;
  loadBalancer(number: number): string;
  external(number: number): string;
}

export const addresses: Readonly<Record<IpFamily, Addresses>> = {
  IPv4: {
    pod: (node, number) => `10.128.${node}.${number}`,
    clusterIP: (number) => `172.30.${number >> 8}.${number & 255}`,
    node: (number) => `192.168.0.${number}`,
    loadBalancer: (number) => `203.0.113.${number}`,
    external: (number) => `198.51.100.${number}`,
  },
  IPv6: {
    pod: (node, number) => `fd00:10:128:${node}::${number.toString(16)}`,
    clusterIP: (number) => `fd00:172:30::${number.toString(16)}`,
    node: (number) => `fd00:192:168::${number.toString(16)}`,
    loadBalancer: (number) => `2001:db8:113::${number.toString(16)}`,
    external: (number) => `2001:db8:51::${number.toString(16)}`,
  },
};

export const settings: Readonly<Record<IpFamily, FamilySettings>> = {
  IPv4: settingsOf("IPv4"),
  IPv6: settingsOf("IPv6"),
};

function settingsOf(family: IpFamily): FamilySettings {
  return {
    masqueradeAll: false,
    localTraffic: { kind: "source", cidr: podRange[family] },
    nodePortAddresses: { kind: "listed", addresses: [addresses[family].node(1)] },
    serviceCIDRs: [serviceRange[family]],
    leftovers: false,
  };
}

/** What a test says about a service port; everything else follows from it. */
export interface ServicePortSample extends Partial<ServicePort> {
  readonly name: string;
  readonly protocol?: Protocol;
}

/** A service port; unless said otherwise it is reachable as its endpoints and policies say. */
export function servicePort(sample: ServicePortSample): ServicePort {
  const { name, namespace = "ns", portName = "p80", protocol = "TCP" } = sample;
  const cluster = sample.clusterEndpoints ?? [];
  const local = sample.localEndpoints ?? [];
  const hasEndpoints = cluster.length > 0 || local.length > 0;
  const fate = (isLocalPolicy: boolean | undefined) =>
    !hasEndpoints ? "reject" : isLocalPolicy && local.length === 0 ? "drop" : "forward";
  const usesCluster = !sample.internalPolicyLocal || isExternal(sample);
  return servicePortOf({
    key: `${namespace}/${name}:${portName}/${protocol}`,
    namespace,
    portName,
    clusterIP: "",
    externallyAccessible: isExternal(sample),
    internal: fate(sample.internalPolicyLocal),
    external: fate(sample.externalPolicyLocal),
    hasEndpoints,
    reachableEndpoints: usesCluster ? cluster : local,
    ...sample,
  });
}

/** Endpoints of a node, port 8080. */
export function endpoints(
  family: IpFamily,
  ...places: readonly (readonly [node: number, number: number])[]
): readonly Endpoint[] {
  return places.map(([node, number]) => ({
    ip: addresses[family].pod(node, number),
    port: 8080,
    isLocal: node === 1,
  }));
}

export function snapshotOf(
  family: IpFamily,
  servicePorts: readonly ServicePort[],
  overrides: Partial<FamilySettings> = {},
): Snapshot {
  return {
    family,
    settings: { ...settings[family], ...overrides },
    services: new Map(servicePorts.map((each) => [each.key, each])),
  };
}

/** One service port of every shape, as a cluster might have them. */
export function everyShape(family: IpFamily): readonly ServicePort[] {
  const { clusterIP, external, loadBalancer } = addresses[family];
  const three = endpoints(family, [1, 2], [2, 2], [9, 2]);
  const two = endpoints(family, [1, 2], [9, 2]);
  const local = endpoints(family, [1, 2]);
  const remote = endpoints(family, [9, 2]);
  const isIpv4 = family === "IPv4";
  return [
    servicePort({ name: "a", clusterIP: clusterIP(10), clusterEndpoints: three }),
    servicePort({
      name: "a",
      portName: "dns",
      protocol: "UDP",
      port: 53,
      clusterIP: clusterIP(10),
      clusterEndpoints: three,
    }),
    servicePort({
      name: "b",
      clusterIP: clusterIP(11),
      externalIPs: [external(11)],
      loadBalancerVIPs: [loadBalancer(11)],
      nodePort: 30011,
      clusterEndpoints: two,
    }),
    servicePort({
      name: "c-external-local",
      clusterIP: clusterIP(12),
      externalIPs: [external(12)],
      loadBalancerVIPs: [loadBalancer(12)],
      nodePort: 30012,
      externalPolicyLocal: true,
      clusterEndpoints: two,
      localEndpoints: local,
    }),
    servicePort({
      name: "d-external-local-none-here",
      clusterIP: clusterIP(13),
      loadBalancerVIPs: [loadBalancer(13)],
      nodePort: 30013,
      externalPolicyLocal: true,
      clusterEndpoints: remote,
    }),
    servicePort({
      name: "e-internal-local",
      clusterIP: clusterIP(14),
      internalPolicyLocal: true,
      clusterEndpoints: three,
      localEndpoints: local,
    }),
    servicePort({
      name: "f-internal-local-none-here",
      clusterIP: clusterIP(15),
      internalPolicyLocal: true,
      clusterEndpoints: remote,
    }),
    servicePort({
      name: "g-no-endpoints",
      clusterIP: clusterIP(16),
      loadBalancerVIPs: [loadBalancer(16)],
      nodePort: 30016,
    }),
    servicePort({
      name: "h-source-ranges",
      clusterIP: clusterIP(17),
      loadBalancerVIPs: [loadBalancer(17)],
      nodePort: 30017,
      sourceRanges: isIpv4
        ? ["192.168.0.0/28", "192.168.0.0/30", "198.18.0.0/16"]
        : ["fd00:192:168::/64", "fd00:192:168::/124", "fd00:198:18::/48"],
      sourceRangesHoldNode: true,
      clusterEndpoints: local,
    }),
    servicePort({
      name: "i-affinity",
      portName: "p",
      clusterIP: clusterIP(18),
      nodePort: 30018,
      affinitySeconds: 10800,
      clusterEndpoints: three,
    }),
    servicePort({
      name: "j-affinity-local",
      portName: "p",
      clusterIP: clusterIP(20),
      loadBalancerVIPs: [loadBalancer(20)],
      nodePort: 30020,
      affinitySeconds: 60,
      externalPolicyLocal: true,
      clusterEndpoints: three,
      localEndpoints: endpoints(family, [1, 2]),
    }),
    servicePort({
      name: "k-sctp",
      protocol: "SCTP",
      clusterIP: clusterIP(19),
      clusterEndpoints: local,
    }),
  ];
}

function isExternal({ externalIPs, loadBalancerVIPs, nodePort }: ServicePortSample): boolean {
  return (externalIPs?.length ?? 0) > 0 || (loadBalancerVIPs?.length ?? 0) > 0 ||
    (nodePort ?? 0) !== 0;
}
