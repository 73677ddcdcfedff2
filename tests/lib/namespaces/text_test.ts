import assert from "node:assert/strict";
import type { Inventory } from "../../../lib/namespaces/inventory.ts";
import { describeChange, describeProxies } from "../../../lib/namespaces/text.ts";

const inventory: Inventory = {
  services: { ClusterIP: 1_200, LoadBalancer: 1, NodePort: 0 },
  frontends: {
    clusterIPs: ["172.30.0.1", "172.30.0.2", "172.30.0.3", "172.30.0.4", "172.30.0.5"],
    externalIPs: [],
    healthCheckNodePorts: [32_000],
    loadBalancerIPs: ["203.0.113.1"],
    nodePorts: ["30080/TCP"],
  },
  sessionAffinity: 1,
  endpoints: 3_600,
  objects: 2_402,
  programmedFrontends: 1_204,
  programmedEndpoints: 3_600,
};

Deno.test("describeChange() shows what stops, line by line", () => {
  const text = describeChange("opt-out", { name: "shop", remarks: ["mind the gap"] }, inventory);
  assert.equal(
    text,
    `shop: what stops on every node
  Services                  1,201: 1,200 ClusterIP, 1 LoadBalancer
  cluster IPs               5: 172.30.0.1, 172.30.0.2, 172.30.0.3, 172.30.0.4 and 1 more
  node ports                1: 30080/TCP
  load balancer IPs         1: 203.0.113.1
  health check node ports   1: 32000
  session affinity          1 Service
  endpoints                 3,600
  saved per node            2,402 objects to receive and follow, 1,204 frontends and 3,600 endpoints to program
  Note: mind the gap
`,
  );
});

Deno.test("describeProxies() counts what is known and names what is not", async (test) => {
  const none = { total: 0, yes: 0, no: 0, unknown: 0, unknownImages: [] };
  const cases = [
    {
      name: "nobody knows",
      count: undefined,
      says: /^Nodes whose proxy honours the label: unknown\. Upstream's/,
    },
    {
      name: "no pods",
      count: none,
      says: /^Nodes whose proxy honours the label: unknown\. Upstream's/,
    },
    {
      name: "some of each",
      count: { total: 4, yes: 2, no: 1, unknown: 1, unknownImages: ["proxy:1"] },
      says:
        /^Nodes whose proxy honours the label: 2 of 4; turned off by --namespace-opt-out=false: 1; cannot be told: 1 \(proxy:1\)\. Upstream's/,
    },
  ];
  for (const { name, count, says } of cases) {
    await test.step(name, () => assert.match(describeProxies(count), says));
  }
});
