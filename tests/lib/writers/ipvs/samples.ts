/** Service ports for the tests of this mode. */
import type { IpFamily } from "../../../../lib/base/ip_family.ts";
import type { FamilySettings, ServicePort, Snapshot } from "../../../../lib/snapshot/snapshot.ts";
import * as nftables from "../nftables/samples.ts";

export const { addresses, endpoints, servicePort, settings } = nftables;

/** One service port of every shape, with the endpoints that a snapshot gives it. */
export function everyShape(family: IpFamily): readonly ServicePort[] {
  const shapes = nftables.everyShape(family).map((each): ServicePort => {
    const usesCluster = !each.internalPolicyLocal || each.externallyAccessible;
    const clusterEndpoints = usesCluster ? each.clusterEndpoints : [];
    return {
      ...each,
      clusterEndpoints,
      nodeEndpoints: each.clusterEndpoints.filter(({ isLocal }) => isLocal),
      healthCheckNodePort: each.name === "c-external-local" ? 30112 : 0,
    };
  });
  return [
    ...shapes,
    servicePort({
      name: "l-node-port-sctp",
      protocol: "SCTP",
      clusterIP: addresses[family].clusterIP(21),
      nodePort: 30021,
      externalPolicyLocal: true,
      clusterEndpoints: endpoints(family, [1, 2]),
      localEndpoints: endpoints(family, [1, 2]),
    }),
    servicePort({
      name: "m-source-ranges-without-node",
      protocol: "UDP",
      port: 53,
      clusterIP: addresses[family].clusterIP(22),
      loadBalancerVIPs: [addresses[family].loadBalancer(22)],
      nodePort: 30022,
      sourceRanges: [family === "IPv4" ? "198.18.0.1/32" : "fd00:198:18::1/128"],
      clusterEndpoints: endpoints(family, [9, 2]),
    }),
  ];
}

export function snapshotOf(
  family: IpFamily,
  servicePorts: readonly ServicePort[],
  overrides: Partial<FamilySettings> = {},
): Snapshot {
  return nftables.snapshotOf(family, servicePorts, overrides);
}
