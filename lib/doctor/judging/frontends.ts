/** Addresses and ports that the cluster's Services are reached at. */
import { canonicalIp, familyOfCanonicalIp } from "../../base/ip.ts";
import { ipFamilies, type IpFamily } from "../../base/ip_family.ts";
import { ownAddresses } from "../../node/own_addresses.ts";
import type { ClusterObjects } from "../cluster_objects.ts";
import type { NodeNetwork } from "../facts/node_values.ts";
import { ipvsInterface } from "./kube_names.ts";

/** A port at which the node itself answers for a Service. */
export interface NodePort {
  readonly port: number;
  readonly protocol: "tcp" | "udp" | "sctp";
  /** `shop/web`. */
  readonly service: string;
}

/** Every address of a Service: of the cluster, external ones, and those of load balancers. Canonical. */
export function serviceAddresses({ services }: ClusterObjects): ReadonlySet<string> {
  const found = services.flatMap(({ clusterIP, clusterIPs, externalIPs, ingress }) => [
    clusterIP,
    ...clusterIPs,
    ...externalIPs,
    ...ingress.map(({ ip }) => ip),
  ]);
  return new Set(found.flatMap((address) => canonicalIp(address) ?? []));
}

/** Node ports of all Services, sorted by their numbers. */
export function nodePortsOf({ services }: ClusterObjects): readonly NodePort[] {
  return services.flatMap(({ name, namespace, ports }) =>
    ports.filter(({ nodePort }) => nodePort > 0).map(({ nodePort, protocol }) => ({
      port: nodePort,
      protocol: protocol === "TCP"
        ? "tcp" as const
        : protocol === "UDP"
        ? "udp" as const
        : "sctp" as const,
      service: `${namespace}/${name}`,
    }))
  ).sort((a, b) => a.port - b.port);
}

/** Ports at which load balancers ask this node for a Service's health. */
export function healthPortsOf({ services }: ClusterObjects): readonly NodePort[] {
  return services.filter(({ healthCheckNodePort }) => healthCheckNodePort > 0)
    .map(({ healthCheckNodePort, name, namespace }) => ({
      port: healthCheckNodePort,
      protocol: "tcp" as const,
      service: `${namespace}/${name}`,
    }));
}

/** The node's own address of each family: its Node's, else as a kubelet would choose it. */
export function primaryAddresses(
  network: NodeNetwork,
  objects: ClusterObjects | undefined,
): readonly string[] {
  const internal = (objects?.node?.addresses ?? [])
    .filter(({ type }) => type === "InternalIP")
    .flatMap(({ address }) => canonicalIp(address) ?? []);
  const chosen = ipFamilies.flatMap((family: IpFamily) =>
    internal.find((address) => familyOfCanonicalIp(address) === family) ?? []
  );
  return chosen.length > 0 ? chosen : ownAddresses(withoutIpvs(network));
}

/** The network without the addresses that ipvs mode puts on an interface of its own. */
export function withoutIpvs(network: NodeNetwork): NodeNetwork {
  return {
    ...network,
    addresses: network.addresses.filter(({ linkName }) => linkName !== ipvsInterface),
  };
}
