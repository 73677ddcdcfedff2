import assert from "node:assert/strict";
import { SharedTexts } from "../../../../lib/base/shared_texts.ts";
import { readEndpointSlice } from "../../../../lib/kube/json/endpoint_slice.ts";
import { readNamespace } from "../../../../lib/kube/json/namespace.ts";
import { readNode } from "../../../../lib/kube/json/node.ts";
import { readService } from "../../../../lib/kube/json/service.ts";
import { readServiceCIDR } from "../../../../lib/kube/json/service_cidr.ts";
import { ShapeError } from "../../../../lib/kube/json/values.ts";

const metadata = { name: "web", namespace: "shop", resourceVersion: "7" };

Deno.test("readService() reads what a proxy needs and leaves the rest", () => {
  const given = {
    metadata: {
      ...metadata,
      creationTimestamp: "2024-01-01T00:00:01Z",
      managedFields: [{ anything: 1 }],
    },
    spec: {
      type: "LoadBalancer",
      clusterIP: "172.30.0.1",
      clusterIPs: ["172.30.0.1", "fd00:172:30::1"],
      ipFamilies: ["IPv4", "IPv6"],
      externalIPs: ["198.51.100.1"],
      ports: [
        { name: "http", protocol: "TCP", port: 80, nodePort: 30080, targetPort: "http" },
        { port: 53, protocol: "UDP", targetPort: 53 },
      ],
      sessionAffinity: "ClientIP",
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
      externalTrafficPolicy: "Local",
      internalTrafficPolicy: "Local",
      loadBalancerSourceRanges: ["203.0.113.0/24"],
      healthCheckNodePort: 32000,
    },
    status: {
      loadBalancer: {
        ingress: [
          { ip: "203.0.113.1" },
          { ip: "203.0.113.2", ipMode: "Proxy" },
          { hostname: "lb.example" },
        ],
      },
    },
  };
  assert.deepEqual(readService(given), {
    namespace: "shop",
    name: "web",
    resourceVersion: "7",
    createdMs: 1_704_067_201_000,
    type: "LoadBalancer",
    clusterIP: "172.30.0.1",
    clusterIPs: ["172.30.0.1", "fd00:172:30::1"],
    ipFamilies: ["IPv4", "IPv6"],
    externalIPs: ["198.51.100.1"],
    ports: [
      { name: "http", protocol: "TCP", port: 80, nodePort: 30080 },
      { name: "", protocol: "UDP", port: 53, nodePort: 0 },
    ],
    affinitySeconds: 60,
    externalTrafficPolicy: "Local",
    internalTrafficPolicy: "Local",
    loadBalancerSourceRanges: ["203.0.113.0/24"],
    ingress: [{ ip: "203.0.113.1", ipMode: "VIP" }, { ip: "203.0.113.2", ipMode: "Proxy" }],
    healthCheckNodePort: 32000,
    otherProxy: false,
  });
});

Deno.test("readService() fills in the API server's defaults", () => {
  const read = readService({ metadata, spec: { ports: [{ port: 80 }], clusterIP: null } });
  assert.equal(read.type, "ClusterIP");
  assert.equal(read.clusterIP, "");
  assert.deepEqual(read.ports, [{ name: "", protocol: "TCP", port: 80, nodePort: 0 }]);
  assert.deepEqual([read.externalTrafficPolicy, read.internalTrafficPolicy], [
    "Cluster",
    "Cluster",
  ]);
  assert.equal(read.affinitySeconds, 0);
  const affine = readService({ metadata, spec: { sessionAffinity: "ClientIP" } });
  assert.equal(affine.affinitySeconds, 10_800);
});

Deno.test("readService() knows another proxy's Service by its label, whatever the value", () => {
  const labels = { "service.kubernetes.io/service-proxy-name": "" };
  assert.equal(readService({ metadata: { ...metadata, labels } }).otherProxy, true);
});

Deno.test("readEndpointSlice() reads conditions, hints and the trigger time", () => {
  const given = {
    metadata: {
      ...metadata,
      name: "web-1",
      labels: { "kubernetes.io/service-name": "web" },
      annotations: {
        "endpoints.kubernetes.io/last-change-trigger-time": "2024-01-01T00:00:01.5Z",
      },
    },
    addressType: "IPv4",
    ports: [{ name: "", port: 8080 }, { port: null, protocol: "UDP" }],
    endpoints: [
      { addresses: ["10.128.0.1", "10.128.0.2"] },
      {
        addresses: ["10.128.0.3"],
        conditions: { ready: false, serving: null, terminating: true },
        nodeName: "node-a",
        hints: { forZones: [{ name: "zone-a" }], forNodes: [{ name: "node-a" }] },
      },
      { addresses: [], conditions: { ready: true, serving: false } },
    ],
  };
  const usual = { ready: true, serving: true, terminating: false, nodeName: "" };
  assert.deepEqual(readEndpointSlice(given), {
    namespace: "shop",
    name: "web-1",
    resourceVersion: "7",
    serviceName: "web",
    addressType: "IPv4",
    ports: [
      { name: "", protocol: "TCP", port: 8080 },
      { name: null, protocol: "UDP", port: 0 },
    ],
    endpoints: [
      { ...usual, address: "10.128.0.1", zoneHints: [], nodeHints: [] },
      {
        address: "10.128.0.3",
        ready: false,
        serving: true,
        terminating: true,
        nodeName: "node-a",
        zoneHints: ["zone-a"],
        nodeHints: ["node-a"],
      },
      { ...usual, serving: false, address: "", zoneHints: [], nodeHints: [] },
    ],
    triggerTimeMs: 1_704_067_201_500,
    otherProxy: false,
  });
});

Deno.test("readEndpointSlice() knows headless slices and those of another proxy", () => {
  for (
    const label of ["service.kubernetes.io/headless", "service.kubernetes.io/service-proxy-name"]
  ) {
    assert.equal(readEndpointSlice({ metadata: { labels: { [label]: "" } } }).otherProxy, true);
  }
});

Deno.test("readEndpointSlice() takes a time that is none for no time", () => {
  const annotations = { "endpoints.kubernetes.io/last-change-trigger-time": "yesterday" };
  assert.equal(readEndpointSlice({ metadata: { annotations } }).triggerTimeMs, 0);
});

Deno.test("SharedTexts gives the first of equal texts", () => {
  const texts = new SharedTexts();
  assert.equal(texts.share("zone-a"), "zone-a");
  assert.equal(texts.share(["zone", "a"].join("-")), "zone-a");
});

Deno.test("readNode() reads addresses, pod CIDRs, zone, taints and deletion", () => {
  const given = {
    metadata: {
      name: "node-a",
      labels: { "topology.kubernetes.io/zone": "zone-a" },
      deletionTimestamp: "2024-01-01T00:00:00Z",
    },
    spec: {
      podCIDR: "10.128.0.0/24",
      podCIDRs: ["10.128.0.0/24", "fd00:10:128::/64"],
      taints: [{ key: "ToBeDeletedByClusterAutoscaler", effect: "NoSchedule" }],
    },
    status: { addresses: [{ type: "InternalIP", address: "192.168.1.1" }], images: [{}] },
  };
  assert.deepEqual(readNode(given), {
    namespace: "",
    name: "node-a",
    resourceVersion: "",
    addresses: [{ type: "InternalIP", address: "192.168.1.1" }],
    podCIDRs: ["10.128.0.0/24", "fd00:10:128::/64"],
    zone: "zone-a",
    taintKeys: ["ToBeDeletedByClusterAutoscaler"],
    deleting: true,
  });
  assert.deepEqual(readNode({ spec: { podCIDR: "10.128.0.0/24" } }).podCIDRs, ["10.128.0.0/24"]);
});

Deno.test("readNamespace() takes the exact value disabled for an opt-out, and nothing else", () => {
  const optedOut = (value: unknown) =>
    readNamespace({ metadata: { name: "a", labels: { "networking.k8s.io/kube-proxy": value } } })
      .optedOut;
  assert.equal(optedOut("disabled"), true);
  for (const other of ["Disabled", "true", "", " disabled", undefined]) {
    assert.equal(optedOut(other), false, String(other));
  }
});

Deno.test("readServiceCIDR() reads the ranges", () => {
  const read = readServiceCIDR({ metadata: { name: "a" }, spec: { cidrs: ["172.30.0.0/16"] } });
  assert.deepEqual(read.cidrs, ["172.30.0.0/16"]);
});

const faults: readonly (readonly [string, () => unknown, readonly (string | number)[]])[] = [
  ["no object", () => readService("text"), []],
  ["a name that is a number", () => readService({ metadata: { name: 1 } }), ["metadata", "name"]],
  ["spec that is a list", () => readService({ spec: [] }), ["spec"]],
  [
    "a port that is text",
    () => readService({ spec: { ports: [{ port: 80 }, { port: "80" }] } }),
    ["spec", "ports", 1, "port"],
  ],
  ["a port with a fraction", () => readService({ spec: { ports: [{ port: 80.5 }] } }), [
    "spec",
    "ports",
    0,
    "port",
  ]],
  ["ports that are no list", () => readService({ spec: { ports: {} } }), ["spec", "ports"]],
  [
    "an address that is a number",
    () => readEndpointSlice({ endpoints: [{ addresses: [1] }] }),
    ["endpoints", 0, "addresses", 0],
  ],
  [
    "a condition that is text",
    () => readEndpointSlice({ endpoints: [{}, { conditions: { ready: "yes" } }] }),
    ["endpoints", 1, "conditions", "ready"],
  ],
  [
    "a hint without a mapping",
    () => readEndpointSlice({ endpoints: [{ hints: { forZones: ["a"] } }] }),
    ["endpoints", 0, "hints", "forZones", 0],
  ],
  [
    "a timeout that is text",
    () =>
      readService({
        spec: {
          sessionAffinity: "ClientIP",
          sessionAffinityConfig: { clientIP: { timeoutSeconds: "1" } },
        },
      }),
    ["spec", "sessionAffinityConfig", "clientIP", "timeoutSeconds"],
  ],
];

for (const [name, read, path] of faults) {
  Deno.test(`decoding tells where a value has the wrong shape: ${name}`, () => {
    assert.throws(read, (error) => {
      assert.ok(error instanceof ShapeError);
      assert.deepEqual(error.path, path);
      return true;
    });
  });
}
