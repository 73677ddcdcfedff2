/** What a cluster, or a folder of manifests, held at one moment. */
import type { EndpointSlice, Node, Service, ServiceCIDR } from "../kube/objects.ts";

/** Without what belongs to opted-out namespaces. */
export interface ClusterObjects {
  readonly services: readonly Service[];
  readonly endpointSlices: readonly EndpointSlice[];
  /** This node's own object; undefined where there is none. */
  readonly node: Node | undefined;
  readonly serviceCIDRs: readonly ServiceCIDR[];
}
