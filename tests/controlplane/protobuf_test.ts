/** The protobuf reader against what a real apiserver says of the same objects in JSON. */
import assert from "node:assert/strict";
import type { ApiObject } from "../../lib/kube/objects.ts";
import {
  endpointSlices,
  namespaces,
  nodes,
  type Resource,
  serviceCIDRs,
  services,
} from "../../lib/kube/resource.ts";
import { createTestClient } from "../fakes/kube_client.ts";
import { ApiClient, type ManifestObject } from "./rig/api.ts";
import { endpointSliceObject, namespaceObject, serviceObject } from "./rig/objects.ts";
import { sharedControlPlane } from "./rig/shared.ts";

const namespace = "protobuf";
const seed = 20_260_101;

/** A small generator, so that a failure can be seen again. */
function randomOf(start: number): <T>(choices: readonly T[]) => T {
  // Neighbouring seeds must not give neighbouring choices.
  let state = Math.imul(start, 2_654_435_761) >>> 0;
  return (choices) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return choices[Math.floor(state / 2 ** 32 * choices.length)];
  };
}

function randomService(index: number): ManifestObject {
  const pick = randomOf(seed + index);
  const type = pick(["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"]);
  const ports = Array.from({ length: pick([1, 1, 2, 5]) }, (_, i) => ({
    name: pick(["http", "dns"]) + i,
    port: 80 + i,
    protocol: pick(["TCP", "UDP", "SCTP"]),
    targetPort: pick<number | string>([8080, "named"]),
    appProtocol: pick([undefined, "kubernetes.io/h2c"]),
  }));
  const external = type === "NodePort" || type === "LoadBalancer";
  const spec = type === "ExternalName"
    ? { type, externalName: "example.test", ports: undefined }
    : {
      type,
      ports,
      selector: pick([undefined, { app: "web" }]),
      ipFamilyPolicy: pick([undefined, "PreferDualStack"]),
      externalIPs: pick([undefined, ["198.51.100.7"], ["198.51.100.7", "2001:db8:51::7"]]),
      internalTrafficPolicy: pick([undefined, "Local"]),
      externalTrafficPolicy: external ? pick(["Cluster", "Local"]) : undefined,
      loadBalancerSourceRanges: type === "LoadBalancer"
        ? pick([undefined, ["192.168.0.0/16"]])
        : undefined,
      trafficDistribution: pick([undefined, "PreferSameZone"]),
      publishNotReadyAddresses: pick([true, false]),
      ...pick([{}, { sessionAffinity: "ClientIP" }, {
        sessionAffinity: "ClientIP",
        sessionAffinityConfig: { clientIP: { timeoutSeconds: pick([1, 86_400]) } },
      }]),
    };
  const labels = pick<Record<string, string>>([{}, {}, {
    "service.kubernetes.io/service-proxy-name": "other",
  }]);
  return serviceObject({ namespace, name: `service-${index}`, labels, spec });
}

function randomSlice(index: number): ManifestObject {
  const pick = randomOf(seed * 2 + index);
  const family = pick(["IPv4", "IPv6"] as const);
  const base = endpointSliceObject({
    namespace,
    name: `slice-${index}`,
    addressType: family,
    addresses: [],
    labels: pick<Record<string, string>>([{}, {}, { "service.kubernetes.io/headless": "" }]),
  });
  const endpoints = Array.from({ length: pick([0, 1, 10, 100]) }, (_, i) => ({
    addresses: [family === "IPv4" ? `10.128.0.${i + 1}` : `fd00:10:128::${(i + 1).toString(16)}`],
    conditions: {
      ready: pick([undefined, true, false]),
      serving: pick([undefined, true, false]),
      terminating: pick([undefined, true, false]),
    },
    nodeName: pick([undefined, "node-1", "node-2"]),
    zone: pick([undefined, "zone-a"]),
    hostname: pick([undefined, "pod"]),
    hints: pick([undefined, { forZones: [{ name: "zone-a" }, { name: "zone-b" }] }, {
      forZones: [{ name: "zone-a" }],
      forNodes: [{ name: "node-1" }],
    }]),
    targetRef: pick([undefined, { kind: "Pod", namespace, name: "pod" }]),
  }));
  const trigger = "endpoints.kubernetes.io/last-change-trigger-time";
  const annotations = pick([undefined, { [trigger]: "2026-01-02T03:04:05.678Z" }]);
  return {
    ...base,
    metadata: { ...base.metadata, annotations },
    endpoints,
    ports: pick([
      undefined,
      [{ port: 8080 }],
      [{ name: "", port: 8080, protocol: "UDP" }],
      [{ name: "http", port: 8080 }, { name: "all", protocol: "SCTP" }],
    ]),
  };
}

const node: ManifestObject = {
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "protobuf-node", labels: { "topology.kubernetes.io/zone": "zone-a" } },
  spec: {
    podCIDR: "10.128.1.0/24",
    podCIDRs: ["10.128.1.0/24", "fd00:10:128:1::/64"],
    taints: [{ key: "ToBeDeletedByClusterAutoscaler", value: "1", effect: "NoSchedule" }],
  },
};

async function sameInBoth<T extends ApiObject>(
  resource: Resource<T>,
  clients: readonly ReturnType<typeof createTestClient>[],
): Promise<readonly T[]> {
  const signal = AbortSignal.timeout(30_000);
  const [inProtobuf, inJson] = await Promise.all(
    clients.map(({ client }) => client.list(resource, { resourceVersion: "", signal })),
  );
  assert.deepEqual(inProtobuf.objects, inJson.objects);
  return inProtobuf.objects;
}

Deno.test("protobuf and JSON of the same objects decode to the same", async (test) => {
  const access = await sharedControlPlane();
  using api = new ApiClient(access);
  const common = { url: access.url, caCertificate: access.caCertificate };
  const token = { kind: "inline" as const, text: access.adminToken };
  const clients = [
    createTestClient({ ...common, access: { token } }),
    createTestClient({ ...common, access: { token }, contentType: "application/json" }),
  ];
  const count = 150;
  await api.create(namespaceObject(namespace, { "networking.k8s.io/kube-proxy": "disabled" }));
  await api.createAll(Array.from({ length: count }, (_, i) => randomService(i)));
  await api.createAll(Array.from({ length: count }, (_, i) => randomSlice(i)));
  await api.create(node);
  const addresses = [{ type: "InternalIP", address: "192.168.0.9" }, {
    type: "Hostname",
    address: "n",
  }];
  await api.patch(node, { status: { addresses } }, "status");
  const ingress = [{ ip: "203.0.113.1", ipMode: "Proxy" }, { hostname: "lb.test" }, {
    ip: "2001:db8:113::1",
  }];
  for (let i = 0; i < count; i++) {
    const service = randomService(i);
    if ((service.spec as { type?: string }).type !== "LoadBalancer") continue;
    await api.patch(service, { status: { loadBalancer: { ingress } } }, "status");
  }
  try {
    await test.step("Services", async () => {
      const objects = await sameInBoth(services, clients);
      assert.ok(objects.some((service) => service.ingress.length === 2));
      assert.ok(objects.some((service) => service.affinitySeconds === 86_400));
    });
    await test.step("EndpointSlices", async () => {
      const objects = await sameInBoth(endpointSlices, clients);
      assert.ok(objects.some((slice) => slice.triggerTimeMs > 0));
      assert.ok(objects.some((slice) => slice.endpoints.some((e) => e.nodeHints.length > 0)));
    });
    await test.step("Nodes", async () => {
      const [found] = (await sameInBoth(nodes, clients)).filter((n) => n.name === "protobuf-node");
      assert.deepEqual(found.addresses, addresses);
      assert.equal(found.zone, "zone-a");
      assert.ok(found.taintKeys.includes("ToBeDeletedByClusterAutoscaler"));
    });
    await test.step("ServiceCIDRs", async () => {
      const objects = await sameInBoth(serviceCIDRs, clients);
      assert.deepEqual(objects.map(({ cidrs }) => cidrs), [["172.30.0.0/16", "fd00:172:30::/108"]]);
    });
    await test.step("Namespaces, of which the metadata alone is asked for", async () => {
      const objects = await sameInBoth(namespaces, clients);
      assert.ok(objects.some((object) => object.name === namespace && object.optedOut));
    });
  } finally {
    for (const { transport } of clients) transport[Symbol.dispose]();
  }
});
