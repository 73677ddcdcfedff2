/** All that a proxy follows, from wherever it comes. */
import type { EndpointSlice, Namespace, Node, Service, ServiceCIDR } from "../kube/objects.ts";
import type { Watcher } from "./watcher.ts";

export interface Source {
  readonly services: Watcher<Service>;
  readonly endpointSlices: Watcher<EndpointSlice>;
  /** The own Node, if it has a name; nothing else. */
  readonly nodes: Watcher<Node>;
  readonly serviceCIDRs: Watcher<ServiceCIDR>;
  /** Absent where the source leaves out opted-out namespaces by itself. */
  readonly namespaces?: Watcher<Namespace>;
}
