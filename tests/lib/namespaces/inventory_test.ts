import assert from "node:assert/strict";
import { readEndpointSlice } from "../../../lib/kube/json/endpoint_slice.ts";
import { readService } from "../../../lib/kube/json/service.ts";
import { addInventories, countServices, takeInventory } from "../../../lib/namespaces/inventory.ts";

function service(name: string, spec: Readonly<Record<string, unknown>>, status = {}) {
  return readService({ metadata: { namespace: "shop", name }, spec, status });
}

function slice(serviceName: string, addresses: readonly string[], ports = [{ port: 8080 }]) {
  return readEndpointSlice({
    metadata: {
      namespace: "shop",
      name: `${serviceName}-${addresses.length}`,
      labels: { "kubernetes.io/service-name": serviceName },
    },
    addressType: "IPv4",
    endpoints: addresses.map((address) => ({ addresses: [address] })),
    ports: ports.map((port) => ({ name: "http", ...port })),
  });
}

const cart = service("cart", {
  type: "ClusterIP",
  clusterIP: "172.30.0.1",
  clusterIPs: ["172.30.0.1", "fd00:172:30::1"],
  externalIPs: ["198.51.100.1"],
  sessionAffinity: "ClientIP",
  sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
  ports: [{ name: "http", port: 80 }, { name: "https", port: 443 }],
});
const front = service("front", {
  type: "LoadBalancer",
  clusterIP: "172.30.0.2",
  healthCheckNodePort: 32_000,
  externalTrafficPolicy: "Local",
  ports: [{ name: "http", port: 80, nodePort: 30_080 }],
}, { loadBalancer: { ingress: [{ ip: "203.0.113.1" }] } });
const elsewhere = service("elsewhere", { type: "ExternalName", externalName: "example.com" });

Deno.test("takeInventory() counts what proxies receive and program", () => {
  const slices = [slice("cart", ["10.128.0.2", "10.128.0.3"]), slice("front", ["10.128.0.2"])];
  const orphan = slice("nobody", ["10.128.0.9"]);
  const inventory = takeInventory([cart, front, elsewhere], [...slices, orphan]);
  assert.deepEqual(inventory, {
    services: { ClusterIP: 1, LoadBalancer: 1, NodePort: 0 },
    frontends: {
      clusterIPs: ["172.30.0.1", "172.30.0.2", "fd00:172:30::1"],
      externalIPs: ["198.51.100.1"],
      healthCheckNodePorts: [32_000],
      loadBalancerIPs: ["203.0.113.1"],
      nodePorts: ["30080/TCP"],
    },
    sessionAffinity: 1,
    endpoints: 2,
    // An ExternalName and an orphan are received all the same.
    objects: 6,
    // 3 addresses x 2 ports, and cluster IP, load balancer IP, node port.
    programmedFrontends: 9,
    programmedEndpoints: 3,
  });
  assert.equal(countServices(inventory), 2);
});

Deno.test("takeInventory() of an empty namespace is nothing", () => {
  const inventory = takeInventory([], []);
  assert.equal(inventory.objects, 0);
  assert.equal(countServices(inventory), 0);
});

Deno.test("addInventories() adds counts and joins lists", () => {
  const one = takeInventory([cart], [slice("cart", ["10.128.0.2"])]);
  const other = takeInventory([front], [slice("front", ["10.128.0.2"])]);
  const sum = addInventories([one, other]);
  assert.equal(sum.objects, 4);
  assert.equal(sum.endpoints, 2);
  assert.equal(sum.programmedFrontends, 9);
  assert.deepEqual(sum.frontends.clusterIPs, ["172.30.0.1", "172.30.0.2", "fd00:172:30::1"]);
  assert.equal(addInventories([]).objects, 0);
});
