/**
 * The desired state of one IP family: every policy is decided here, once, so that a writer only has
 * to turn it into rules. All values are immutable; a service port that did not change is
 * the same object as before, which is what makes a diff by key cheap.
 */
import type { IpFamily } from "../base/ip_family.ts";
import type { Protocol } from "../base/protocol.ts";

/** `namespace/name:port/PROTOCOL` (`namespace/name/PROTOCOL` for an unnamed port): unique in a snapshot. */
export type ServicePortKey = string;

/** Where traffic can go. `ip` is canonical text of the snapshot's family. */
export interface Endpoint {
  readonly ip: string;
  readonly port: number;
  readonly isLocal: boolean;
}

/**
 * What happens to new connections of one class (internal: the cluster IP; external: external IPs,
 * load balancer addresses, node ports).
 * `forward`: there are endpoints. `reject`: nobody anywhere serves. `drop`: a Local policy finds none here.
 */
export type Fate = "forward" | "reject" | "drop";

/** One port of one Service in one family, with everything decided. */
export interface ServicePort {
  readonly key: ServicePortKey;
  readonly namespace: string;
  readonly name: string;
  readonly portName: string;
  readonly protocol: Protocol;

  /** Empty when an older Service owns the same address, protocol and port. */
  readonly clusterIP: string;
  readonly port: number;
  /** In the object's order, without those that an older Service owns. */
  readonly externalIPs: readonly string[];
  readonly loadBalancerVIPs: readonly string[];
  /** 0 when there is none, or an older Service owns it. */
  readonly nodePort: number;

  /** Masked canonical CIDRs of this family that may reach the load balancer addresses; empty means all. */
  readonly sourceRanges: readonly string[];
  /** One of this node's own addresses lies in `sourceRanges`. */
  readonly sourceRangesHoldNode: boolean;
  /** 0 without session affinity. */
  readonly affinitySeconds: number;

  readonly internalPolicyLocal: boolean;
  readonly externalPolicyLocal: boolean;
  /** Has any frontend but the cluster IP. */
  readonly externallyAccessible: boolean;

  /** What happens to new connections to the cluster IP. */
  readonly internal: Fate;
  /**
   * What happens to new connections from outside the node and its pods to external frontends. With a
   * Local policy and `drop`, local pods and the node itself still reach `clusterEndpoints`.
   */
  readonly external: Fate;
  /** Some endpoint, anywhere, can serve. */
  readonly hasEndpoints: boolean;

  /** Endpoints for Cluster policy, sorted by `ip:port` bytewise (IPv6 in brackets). */
  readonly clusterEndpoints: readonly Endpoint[];
  /** Endpoints for Local policy, sorted likewise; empty unless a Local policy is in use. */
  readonly localEndpoints: readonly Endpoint[];
  /** The union of what can be reached from this node, sorted likewise, each once. */
  readonly reachableEndpoints: readonly Endpoint[];

  /** All endpoints of this node, of all readiness, sorted likewise. */
  readonly nodeEndpoints: readonly Endpoint[];
  /** All endpoints of all readiness, wherever they are. */
  readonly endpointCount: number;

  /** UDP only: all serving endpoints whatever the policies, for conntrack; else empty. */
  readonly servingEndpoints: readonly Endpoint[];
  /** 0 unless a LoadBalancer with external policy Local. */
  readonly healthCheckNodePort: number;
}

/** How traffic of local pods is recognised. */
export type LocalTraffic =
  | { readonly kind: "unknown" }
  | { readonly kind: "source"; readonly cidr: string }
  | { readonly kind: "interface"; readonly name: string }
  | { readonly kind: "interface-prefix"; readonly prefix: string };

/** An address of this node, canonical. */
export interface NodeAddress {
  readonly ip: string;
  readonly isLoopback: boolean;
}

/**
 * Which of the node's addresses answer on node ports. `all` carries them, sorted, for modes whose
 * rules have to name them. Who serves loopback is the mode's to say: `listed` has those of its
 * addresses apart, absent where there are none.
 */
export type NodePortAddresses =
  | { readonly kind: "all"; readonly addresses?: readonly NodeAddress[] }
  | {
    readonly kind: "listed";
    readonly addresses: readonly string[];
    readonly loopback?: readonly string[];
  };

/** What holds for the family as a whole. */
export interface FamilySettings {
  readonly masqueradeAll: boolean;
  readonly localTraffic: LocalTraffic;
  readonly nodePortAddresses: NodePortAddresses;
  /** Ranges in which unallocated cluster IPs are dropped, sorted. */
  readonly serviceCIDRs: readonly string[];
  /** Rules of another proxy mode are loaded in this kernel: decide our addresses even without endpoints. */
  readonly leftovers: boolean;
}

export interface Snapshot {
  readonly family: IpFamily;
  readonly settings: FamilySettings;
  readonly services: ReadonlyMap<ServicePortKey, ServicePort>;
}
