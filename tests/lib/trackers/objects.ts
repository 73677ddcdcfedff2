/** Short ways to write API objects and settings for tests of the trackers. */
import type { EndpointSlice, Service, SliceEndpoint } from "../../../lib/kube/objects.ts";
import type { FamilySettings } from "../../../lib/snapshot/snapshot.ts";

/** A ClusterIP Service `shop/web` with the TCP port 80 named `http`, and what the test changes of it. */
export function service(changes: Partial<Service> = {}): Service {
  const clusterIP = changes.clusterIP ?? "172.30.0.1";
  return {
    namespace: "shop",
    name: "web",
    resourceVersion: "1",
    createdMs: 0,
    type: "ClusterIP",
    clusterIP,
    clusterIPs: [clusterIP],
    ipFamilies: [clusterIP.includes(":") ? "IPv6" : "IPv4"],
    externalIPs: [],
    ports: [{ name: "http", protocol: "TCP", port: 80, nodePort: 0 }],
    affinitySeconds: 0,
    externalTrafficPolicy: "Cluster",
    internalTrafficPolicy: "Cluster",
    loadBalancerSourceRanges: [],
    ingress: [],
    healthCheckNodePort: 0,
    otherProxy: false,
    ...changes,
  };
}

/** A slice `shop/web-1` of the Service `web`, without endpoints. */
export function slice(changes: Partial<EndpointSlice> = {}): EndpointSlice {
  return {
    namespace: "shop",
    name: "web-1",
    resourceVersion: "1",
    serviceName: "web",
    addressType: "IPv4",
    ports: [{ name: "http", protocol: "TCP", port: 8080 }],
    endpoints: [],
    triggerTimeMs: 0,
    otherProxy: false,
    ...changes,
  };
}

/** A ready endpoint somewhere. */
export function endpoint(address: string, changes: Partial<SliceEndpoint> = {}): SliceEndpoint {
  return {
    address,
    ready: true,
    serving: true,
    terminating: false,
    nodeName: "",
    zoneHints: [],
    nodeHints: [],
    ...changes,
  };
}

export const settings: FamilySettings = {
  masqueradeAll: false,
  localTraffic: { kind: "unknown" },
  nodePortAddresses: { kind: "all" },
  serviceCIDRs: [],
  leftovers: false,
};
