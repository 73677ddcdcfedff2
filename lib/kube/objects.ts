/**
 * The few fields of API objects that a service proxy reads, as small immutable values.
 *
 * Every source (the apiserver in protobuf or JSON, manifest files) decodes into these shapes at its
 * edge, so nothing behind it knows where an object came from. Values are as the API has them:
 * addresses are not canonical yet, absent fields carry the API server's default.
 */
import type { Protocol } from "../base/protocol.ts";

/** What all kinds share; cluster-scoped kinds have an empty namespace. */
export interface ApiObject {
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
}

export interface ServicePort {
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
  /** 0 when there is none. */
  readonly nodePort: number;
}

/** An address of status.loadBalancer.ingress; entries that only have a host name are left out. */
export interface LoadBalancerIngress {
  readonly ip: string;
  readonly ipMode: "VIP" | "Proxy";
}

export interface Service extends ApiObject {
  /** Milliseconds since the epoch; 0 when unknown. Decides which of two conflicting Services wins. */
  readonly createdMs: number;
  readonly type: "ClusterIP" | "NodePort" | "LoadBalancer" | "ExternalName";
  readonly clusterIP: string;
  readonly clusterIPs: readonly string[];
  readonly ipFamilies: readonly string[];
  readonly externalIPs: readonly string[];
  readonly ports: readonly ServicePort[];
  /** Seconds that a client stays with its endpoint; 0 without ClientIP affinity. */
  readonly affinitySeconds: number;
  readonly externalTrafficPolicy: "Cluster" | "Local";
  readonly internalTrafficPolicy: "Cluster" | "Local";
  readonly loadBalancerSourceRanges: readonly string[];
  readonly ingress: readonly LoadBalancerIngress[];
  readonly healthCheckNodePort: number;
  /** Labelled `service.kubernetes.io/service-proxy-name`: another proxy's, which sources leave out. */
  readonly otherProxy: boolean;
}

export interface EndpointSlicePort {
  /** null is "no name given", which upstream skips; the empty string is a name. */
  readonly name: string | null;
  readonly protocol: Protocol;
  /** 0 when absent. */
  readonly port: number;
}

export interface SliceEndpoint {
  /** Only the first address counts. Empty when there is none. */
  readonly address: string;
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly nodeName: string;
  readonly zoneHints: readonly string[];
  readonly nodeHints: readonly string[];
}

export interface EndpointSlice extends ApiObject {
  /** Label `kubernetes.io/service-name`; empty when missing. */
  readonly serviceName: string;
  readonly addressType: string;
  readonly ports: readonly EndpointSlicePort[];
  readonly endpoints: readonly SliceEndpoint[];
  /** Annotation `endpoints.kubernetes.io/last-change-trigger-time` in milliseconds; 0 when absent. */
  readonly triggerTimeMs: number;
  /** Labelled for another proxy or headless, which sources leave out. */
  readonly otherProxy: boolean;
}

export interface NodeAddress {
  readonly type: string;
  readonly address: string;
}

export interface Node extends ApiObject {
  readonly addresses: readonly NodeAddress[];
  readonly podCIDRs: readonly string[];
  /** Label `topology.kubernetes.io/zone`; empty when missing. */
  readonly zone: string;
  readonly taintKeys: readonly string[];
  /** Has a deletionTimestamp. */
  readonly deleting: boolean;
}

export interface ServiceCIDR extends ApiObject {
  readonly cidrs: readonly string[];
}

/** A Namespace; only its opt-out label matters. */
export interface Namespace extends ApiObject {
  /** Label `networking.k8s.io/kube-proxy` has the exact value `disabled`. */
  readonly optedOut: boolean;
}
