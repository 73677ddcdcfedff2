/** What a person and a script see of `namespaces list`. */
import assert from "node:assert/strict";
import { FakeCluster, label, run } from "./fake_cluster.ts";

const service = {
  metadata: { name: "web", namespace: "shop", uid: "u1", resourceVersion: "5" },
  spec: {
    type: "NodePort",
    clusterIP: "172.30.0.1",
    clusterIPs: ["172.30.0.1"],
    ipFamilies: ["IPv4"],
    ports: [{ name: "http", protocol: "TCP", port: 80, nodePort: 30_080 }],
  },
};

const slice = {
  metadata: {
    name: "web-1",
    namespace: "shop",
    resourceVersion: "6",
    labels: { "kubernetes.io/service-name": "web" },
  },
  addressType: "IPv4",
  ports: [{ name: "http", protocol: "TCP", port: 8080 }],
  endpoints: [
    { addresses: ["10.128.0.5"], conditions: { ready: true } },
    { addresses: ["10.128.0.6"], conditions: { ready: true } },
  ],
};

const pods = (...args: readonly string[]) => ({
  items: args.map((arg, i) => ({
    spec: { nodeName: `n${i}`, containers: [{ name: "kube-proxy", image: "p:1", args: [arg] }] },
  })),
});

const proxyPath = "/api/v1/namespaces/kube-system/pods";

function shop(): FakeCluster {
  const cluster = new FakeCluster({ shop: "disabled", mesh: "enabled", other: undefined });
  cluster.answers = {
    "/api/v1/namespaces/shop/services": { metadata: { resourceVersion: "7" }, items: [service] },
    "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices": {
      metadata: { resourceVersion: "7" },
      items: [slice],
    },
    [proxyPath]: pods("--namespace-opt-out", "--namespace-opt-out=false", "--v=2"),
  };
  return cluster;
}

Deno.test("list says what is out, what that saves, and which labels mean nothing", async () => {
  const { exitCode, stderr, stdout } = await run(["list"], shop());
  assert.equal(exitCode, 0, stderr);
  assert.equal(
    stdout,
    `NAMESPACE  SINCE    BY       SERVICES  ENDPOINTS
shop       unknown  unknown  1         2
1 namespace; saved per node: 2 objects to receive and follow, 2 frontends and 2 endpoints to program
mesh: the value "enabled" of ${label} means nothing; only "disabled" does
Nodes whose proxy honours the label: 1 of 3; turned off by --namespace-opt-out=false: 1; ` +
      `cannot be told: 1 (p:1). Upstream's kube-proxy does not know the label and goes on serving.
`,
  );
});

Deno.test("list as JSON tells the same", async () => {
  const { exitCode, stdout } = await run(["list", "-o", "json"], shop());
  assert.equal(exitCode, 0);
  const saved = { objects: 2, frontends: 2, endpoints: 2 };
  assert.deepEqual(JSON.parse(stdout), {
    schemaVersion: 1,
    namespaces: [{
      name: "shop",
      optedOut: true,
      label: "disabled",
      managers: [],
      since: null,
      inventory: {
        services: { ClusterIP: 0, NodePort: 1, LoadBalancer: 0 },
        frontends: {
          clusterIPs: ["172.30.0.1"],
          nodePorts: ["30080/TCP"],
          loadBalancerIPs: [],
          externalIPs: [],
          healthCheckNodePorts: [],
        },
        sessionAffinity: 0,
        endpoints: 2,
        savedPerNode: saved,
      },
    }],
    withoutEffect: [{
      name: "mesh",
      optedOut: false,
      label: "enabled",
      managers: [],
      since: null,
    }],
    savedPerNode: saved,
    proxies: { total: 3, honour: 1, turnedOff: 1, unknown: 1, unknownImages: ["p:1"] },
  });
});

Deno.test("list says that nothing is out, and asks for no proxies' sake", async () => {
  const cluster = new FakeCluster({ other: undefined });
  cluster.answers = { [proxyPath]: 403 };
  const { exitCode, stdout } = await run(["list"], cluster);
  assert.deepEqual([exitCode, stdout], [0, "No namespace is opted out\n"]);
  const json = JSON.parse((await run(["list", "-o", "json"], cluster)).stdout);
  assert.equal(json.proxies, null);
});

Deno.test("list without the right to it prints the role that grants it", async () => {
  const cluster = new FakeCluster({});
  cluster.answers = { "/api/v1/namespaces": 403 };
  const { exitCode, stderr, stdout } = await run(["list"], cluster);
  assert.deepEqual([exitCode, stdout], [1, ""]);
  assert.match(stderr, /^Error: .*the role below grants.*\napiVersion: rbac[^]*verbs: \[list\]/);
});

Deno.test("list tells another failure as it is, of the proxies' pods too", async () => {
  const cluster = shop();
  cluster.answers = { ...cluster.answers, [proxyPath]: 500 };
  const { exitCode, stderr, stdout } = await run(["list"], cluster);
  assert.deepEqual([exitCode, stdout], [1, ""]);
  assert.match(stderr, /^Error: Cannot GET .*pods.*\n$/);
});

Deno.test("list counts on a terminal where there are many", async () => {
  const names = Array.from({ length: 120 }, (_, i) => [`n${i}`, "disabled"] as const);
  const { stderr } = await run(["list"], new FakeCluster(Object.fromEntries(names)), {
    typed: "",
  });
  assert.equal(
    stderr,
    "\r50 of 120 namespaces\r100 of 120 namespaces\r120 of 120 namespaces\n",
  );
  const few = await run(["list"], new FakeCluster(Object.fromEntries(names.slice(0, 49))), {
    typed: "",
  });
  assert.equal(few.stderr, "");
});
