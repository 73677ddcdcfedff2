/** The objects of which an apiserver's bytes are recorded: between them, every field that is read. */
import type { ManifestObject } from "../controlplane/rig/api.ts";
import {
  endpointSliceObject,
  namespaceObject,
  serviceObject,
} from "../controlplane/rig/objects.ts";

export interface StoredResource {
  readonly name: string;
  readonly path: string;
  readonly metadataOnly?: boolean;
}

export const storedResources: readonly StoredResource[] = [
  { name: "services", path: "/api/v1/namespaces/recorded/services" },
  {
    name: "endpointslices",
    path: "/apis/discovery.k8s.io/v1/namespaces/recorded/endpointslices",
  },
  { name: "nodes", path: "/api/v1/nodes" },
  { name: "namespaces", path: "/api/v1/namespaces", metadataOnly: true },
  { name: "servicecidrs", path: "/apis/networking.k8s.io/v1/servicecidrs" },
];

const namespace = "recorded";
const service = (name: string, spec: Readonly<Record<string, unknown>>, labels = {}) =>
  serviceObject({ namespace, name, spec, labels });
const slice = (name: string, fields: Readonly<Record<string, unknown>>): ManifestObject => {
  const base = endpointSliceObject({ namespace, name, addresses: ["10.128.0.1"] });
  return { ...base, ...fields };
};
const node = (name: string, spec: Readonly<Record<string, unknown>>): ManifestObject => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name, labels: { "topology.kubernetes.io/zone": "zone-a" } },
  spec,
});
const cidr = (name: string, cidrs: readonly string[]): ManifestObject => ({
  apiVersion: "networking.k8s.io/v1",
  kind: "ServiceCIDR",
  metadata: { name },
  spec: { cidrs },
});

/** What lists hold. */
export const listedObjects: Readonly<Record<string, readonly ManifestObject[]>> = {
  services: [
    service("cluster-ip", {
      clusterIP: "172.30.0.10",
      clusterIPs: ["172.30.0.10", "fd00:172:30::10"],
      ipFamilyPolicy: "RequireDualStack",
      internalTrafficPolicy: "Local",
      externalIPs: ["198.51.100.7", "2001:db8:51::7"],
      selector: { app: "web" },
    }),
    service("external-name", { type: "ExternalName", externalName: "shop.test", ports: undefined }),
    service("headless", { clusterIP: "None" }),
    service("load-balancer", {
      type: "LoadBalancer",
      clusterIP: "172.30.0.11",
      externalTrafficPolicy: "Local",
      healthCheckNodePort: 31_999,
      loadBalancerSourceRanges: ["192.168.0.0/16", "fd00:192:168::/48"],
      sessionAffinity: "ClientIP",
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 86_400 } },
      ports: [
        { name: "http", port: 80, protocol: "TCP", targetPort: "named", nodePort: 30_080 },
        { name: "dns", port: 53, protocol: "UDP", targetPort: 5353, nodePort: 30_053 },
        { name: "sctp", port: 65_535, protocol: "SCTP", nodePort: 30_655 },
      ],
    }),
    service("other-proxy", { clusterIP: "172.30.0.12" }, {
      "service.kubernetes.io/service-proxy-name": "other",
    }),
  ],
  endpointslices: [
    {
      ...slice("full", {
        ports: [{ name: "http", port: 8080 }, { name: "all", protocol: "SCTP" }],
        endpoints: [
          {
            addresses: ["10.128.0.1"],
            conditions: { ready: true, serving: true, terminating: false },
            nodeName: "node-1",
            zone: "zone-a",
            hints: { forZones: [{ name: "zone-a" }, { name: "zone-b" }] },
          },
          {
            addresses: ["10.128.0.2"],
            conditions: { ready: false, serving: true, terminating: true },
            hints: { forZones: [{ name: "zone-b" }], forNodes: [{ name: "node-2" }] },
            targetRef: { kind: "Pod", namespace, name: "pod" },
          },
          { addresses: ["10.128.0.3"], conditions: {} },
        ],
      }),
      metadata: {
        name: "full",
        namespace,
        labels: { "kubernetes.io/service-name": "cluster-ip" },
        annotations: {
          "endpoints.kubernetes.io/last-change-trigger-time": "2026-01-02T03:04:05.678Z",
        },
      },
    },
    slice("other-family", {
      addressType: "IPv6",
      ports: [{ name: "", port: 53, protocol: "UDP" }],
      endpoints: [{ addresses: ["fd00:10:128::1"] }],
    }),
    slice("without-ports", { ports: undefined, endpoints: [] }),
  ],
  nodes: [
    node("node-1", {
      podCIDR: "10.128.1.0/24",
      podCIDRs: ["10.128.1.0/24", "fd00:10:128:1::/64"],
      taints: [{ key: "ToBeDeletedByClusterAutoscaler", value: "1", effect: "NoSchedule" }],
    }),
    node("node-2", {}),
  ],
  namespaces: [
    namespaceObject("opted-out", { "networking.k8s.io/kube-proxy": "disabled" }),
    namespaceObject("served", { "networking.k8s.io/kube-proxy": "enabled" }),
  ],
  servicecidrs: [cidr("second", ["172.31.0.0/16"])],
};

/** What comes, changes and goes while a watch is open. */
export const changedLater: Readonly<Record<string, readonly ManifestObject[]>> = {
  services: [service("passing", { clusterIP: "172.30.0.20" })],
  endpointslices: [slice("passing", {})],
  nodes: [node("passing", {})],
  namespaces: [namespaceObject("passing", { "networking.k8s.io/kube-proxy": "disabled" })],
  // One that is deleted stays until a controller lets it go.
  servicecidrs: [cidr("passing", ["172.29.0.0/16"])],
};

/** What lives in the status subresource. */
export function statusOf({ kind, metadata }: ManifestObject): object | undefined {
  if (metadata.name === "node-1") {
    return {
      addresses: [
        { type: "InternalIP", address: "192.168.1.1" },
        { type: "InternalIP", address: "fd00:192:168:1::1" },
        { type: "Hostname", address: "node-1" },
      ],
    };
  }
  if (kind !== "Service" || metadata.name !== "load-balancer") return undefined;
  const ingress = [
    { ip: "203.0.113.1", ipMode: "Proxy" },
    { hostname: "lb.test" },
    { ip: "203.0.113.2", ipMode: "VIP" },
  ];
  return { loadBalancer: { ingress } };
}
