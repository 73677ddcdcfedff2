import assert from "node:assert/strict";
import { SharedTexts } from "../../../lib/base/shared_texts.ts";
import { describeManifestProblem, loadManifest } from "../../../lib/watchers/manifests_load.ts";

function load(text: string, file: string) {
  return loadManifest(text, { file, texts: new SharedTexts() });
}

/** Kind and name of each object. */
function namesIn(text: string, file = "a.yaml"): readonly string[] {
  const loaded = load(text, file);
  assert.equal(loaded.kind, "loaded", JSON.stringify(loaded));
  if (loaded.kind !== "loaded") return [];
  return loaded.objects.map(({ kind, object }) =>
    [kind, object.namespace, object.name].filter((part) => part !== "").join("/")
  );
}

function sentences(text: string, file = "a.yaml"): readonly string[] {
  const loaded = load(text, file);
  assert.equal(loaded.kind, "broken");
  return loaded.kind === "broken" ? loaded.problems.map(describeManifestProblem) : [];
}

const service = `apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  clusterIP: 172.30.0.1
  ports:
    - port: 80
`;
const serviceObject = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web", namespace: "shop" },
  spec: { clusterIP: "172.30.0.1", ports: [{ port: 80 }] },
};

Deno.test("loadManifest() reads several YAML documents, empty ones between them", () => {
  const text = `# first\n---\n${service}---\n# nothing\n---\n${service.replace("web", "api")}...\n`;
  assert.deepEqual(namesIn(text), ["Service/default/web", "Service/default/api"]);
  assert.deepEqual(namesIn(""), []);
});

Deno.test("loadManifest() reads JSON, whatever the name, and opens lists", () => {
  const list = { apiVersion: "v1", kind: "List", items: [serviceObject] };
  const typed = { ...list, kind: "ServiceList", items: [{ ...serviceObject, kind: undefined }] };
  for (const value of [serviceObject, list, typed]) {
    assert.deepEqual(namesIn(JSON.stringify(value), "a.json"), ["Service/shop/web"]);
    assert.deepEqual(namesIn(JSON.stringify(value, null, 2), "a.yaml"), ["Service/shop/web"]);
    assert.deepEqual(namesIn(JSON.stringify(value), "-"), ["Service/shop/web"]);
  }
});

Deno.test("loadManifest() reads a YAML list and flow style", () => {
  const indented = service.replaceAll("\n", "\n    ").trimEnd();
  assert.deepEqual(namesIn(`apiVersion: v1\nkind: List\nitems:\n  - ${indented}\n`), [
    "Service/default/web",
  ]);
  const flow = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}";
  assert.deepEqual(namesIn(flow), ["Namespace/shop"]);
});

Deno.test("loadManifest() reads a list as kubectl prints it, and tells the places in it", () => {
  const item = (name: string, port: string) =>
    `- apiVersion: v1\n  kind: Service\n  metadata:\n    name: ${name}\n  spec:\n    clusterIP: 172.30.0.1\n    ports:\n    - port: ${port}\n`;
  const list = (...items: string[]) =>
    `apiVersion: v1\nitems:\n${items.join("")}kind: List\nmetadata:\n  resourceVersion: ""\n`;
  const names = ["Service/default/web", "Service/default/api"];
  assert.deepEqual(namesIn(list(item("web", "80"), item("api", "81"))), names);
  assert.deepEqual(namesIn(list(item("web", "&p 80"), item("api", "*p"))), names);
  assert.deepEqual(sentences(list(item("web", "80"), item("api", "0"))), [
    'Cannot use manifest "a.yaml:18:13": Service api: spec.ports[0].port must be between 1 and 65535, not 0',
  ]);
  const indented = (...names: string[]) =>
    list(...names.map((name) => item(name, "80"))).replaceAll(/^(?=[- ])/gm, "  ");
  assert.deepEqual(namesIn(indented("web", "api")), names);
  const [deep] = sentences(indented("web", "api").replaceAll("80", "port"));
  assert.match(deep, /"a\.yaml:10:15": Service web: spec\.ports\[0\]\.port /);
  const [broken] = sentences(list(item("web", "80"), item("api", "[")));
  assert.match(broken, /a\.yaml:\d+:\d+"/);
});

Deno.test("loadManifest() counts kinds that a proxy does not read", () => {
  const loaded = load(
    `${service}---\napiVersion: v1\nkind: Pod\n---\napiVersion: apps/v1\nkind: Deployment\n---\napiVersion: v1\nkind: Pod\n`,
    "a.yaml",
  );
  assert.ok(loaded.kind === "loaded");
  assert.deepEqual([...loaded.otherKinds], [["Pod", 2], ["Deployment", 1]]);
});

Deno.test("loadManifest() fills in what the apiserver would", () => {
  const loaded = load(
    JSON.stringify({
      apiVersion: "v1",
      kind: "List",
      items: [
        {
          ...serviceObject,
          metadata: { name: "web" },
          spec: {
            clusterIPs: ["172.30.0.1", "fd00:172:30::1"],
            ports: [{ port: 80 }],
            sessionAffinity: "ClientIP",
          },
        },
        {
          apiVersion: "discovery.k8s.io/v1",
          kind: "EndpointSlice",
          metadata: { name: "web-1" },
          addressType: "IPv4",
          ports: [{ port: 80 }],
          endpoints: [{ addresses: ["10.128.0.1"] }],
        },
      ],
    }),
    "a.json",
  );
  assert.ok(loaded.kind === "loaded");
  const [web, slice] = loaded.objects;
  assert.ok(web.kind === "Service" && slice.kind === "EndpointSlice");
  const { namespace, clusterIP, ipFamilies, affinitySeconds, ports, internalTrafficPolicy } =
    web.object;
  assert.deepEqual(
    { namespace, clusterIP, ipFamilies, affinitySeconds, internalTrafficPolicy },
    {
      namespace: "default",
      clusterIP: "172.30.0.1",
      ipFamilies: ["IPv4", "IPv6"],
      affinitySeconds: 10_800,
      internalTrafficPolicy: "Cluster",
    },
  );
  assert.equal(ports[0].protocol, "TCP");
  assert.equal(slice.object.namespace, "default");
  assert.deepEqual(slice.object.ports, [{ name: "", protocol: "TCP", port: 80 }]);
  const [{ ready, serving, terminating }] = slice.object.endpoints;
  assert.deepEqual([ready, serving, terminating], [true, true, false]);
});

Deno.test("loadManifest() fills in what one of them lacks, and leaves what is there", () => {
  const slice = (metadata: object, port: object) => ({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata,
    addressType: "IPv4",
    ports: [{ port: 80, ...port }],
    endpoints: [],
  });
  const items = [
    slice({ name: "a" }, { name: "http" }),
    slice({ name: "b", namespace: "shop" }, {}),
    slice({ name: "c", namespace: "shop" }, { name: "http" }),
  ];
  const loaded = load(JSON.stringify({ apiVersion: "v1", kind: "List", items }), "a.json");
  assert.ok(loaded.kind === "loaded");
  const found = loaded.objects.map(({ kind, object }) => {
    assert.ok(kind === "EndpointSlice");
    return `${object.namespace}/${object.name} ${JSON.stringify(object.ports[0].name)}`;
  });
  assert.deepEqual(found, ['default/a "http"', 'shop/b ""', 'shop/c "http"']);
});

const texts: readonly (readonly [string, string, string, string])[] = [
  [
    "JSON that ends too soon",
    "a.json",
    '{\n  "kind": ',
    'a.json:2:10": unexpected end of JSON input',
  ],
  ["JSON with a stray comma", "a.json", '{\n "kind": "Service",\n}', "a.json:3:1"],
  ["YAML with a tab", "a.yaml", "kind: Service\nspec:\n\tports: []\n", "a.yaml:3:1"],
  [
    "a key given twice",
    "a.yaml",
    "kind: Service\nkind: Node\n",
    'a.yaml:2:1": the key "kind" is there twice',
  ],
  [
    "text that is no object",
    "a.yaml",
    "hello\n",
    'a.yaml:1:1": document: must be a Kubernetes object',
  ],
  ["no kind", "a.yaml", "metadata: {}\n", 'a.yaml:1:1": object: kind is required'],
  ["no apiVersion", "a.yaml", "kind: Service\n", 'a.yaml:1:1": Service: apiVersion is required'],
];

for (const [name, file, text, expected] of texts) {
  Deno.test(`loadManifest() tells what is wrong and where: ${name}`, () => {
    const [sentence] = sentences(text, file);
    assert.ok(sentence.includes(expected), sentence);
  });
}

Deno.test("loadManifest() tells the place in the second document of a YAML text", () => {
  const text = `${service}---\n${service.replace("port: 80", "port: 70000")}`;
  assert.deepEqual(sentences(text), [
    'Cannot use manifest "a.yaml:17:13": Service web: spec.ports[0].port must be between 1 and 65535, not 70000',
  ]);
});

const slice = {
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { name: "web-1", namespace: "shop" },
  addressType: "IPv4",
  ports: [{ name: "http", port: 80 }],
  endpoints: [{ addresses: ["10.128.0.1"] }],
};
const spec = (changes: object) => ({
  ...serviceObject,
  spec: { ...serviceObject.spec, ...changes },
});
const named = (object: object, name: string) => ({
  ...object,
  metadata: { name, namespace: "shop" },
});

const breaches: readonly (readonly [string, object, string])[] = [
  ["a name is missing", { ...serviceObject, metadata: {} }, "metadata.name is required"],
  [
    "a long Service name",
    named(serviceObject, "a".repeat(64)),
    "metadata.name must be no more than 63 characters",
  ],
  [
    "a long slice name",
    named(slice, "a".repeat(254)),
    "metadata.name must be no more than 253 characters",
  ],
  [
    "a name with a capital",
    named(serviceObject, "Web"),
    'metadata.name must be lower-case letters, digits and "-"',
  ],
  [
    "a name that is a number",
    named(serviceObject, JSON.parse("1")),
    "metadata.name must be a string; put it in quotes",
  ],
  [
    "a cluster IP that is none",
    spec({ clusterIP: "172.30.0.300" }),
    'spec.clusterIP must be an IP address, not "172.30.0.300"',
  ],
  [
    "clusterIPs that disagree",
    spec({ clusterIPs: ["172.30.0.2"] }),
    'spec.clusterIPs[0] must be the clusterIP "172.30.0.1"',
  ],
  [
    "a family that does not fit",
    spec({ ipFamilies: ["IPv6"] }),
    "spec.ipFamilies[0] must be the family of the cluster IP",
  ],
  [
    "a family of which there is no cluster IP",
    spec({ ipFamilies: ["IPv4", "IPv6", "IPv6"] }),
    "spec.ipFamilies must not hold a family twice",
  ],
  ["an unknown family", spec({ ipFamilies: ["ipv4"] }), "spec.ipFamilies[0] must be IPv4 or IPv6"],
  ["an unknown type", spec({ type: "Clusterip" }), "spec.type must be one of ClusterIP, NodePort"],
  [
    "an unknown protocol",
    spec({ ports: [{ port: 80, protocol: "HTTP" }] }),
    "spec.ports[0].protocol must be one of TCP, UDP, SCTP",
  ],
  ["port zero", spec({ ports: [{ port: 0 }] }), "spec.ports[0].port must be between 1 and 65535"],
  [
    "a node port too high",
    spec({ ports: [{ port: 1, nodePort: 65536 }] }),
    "spec.ports[0].nodePort must be between 0 and 65535",
  ],
  [
    "several ports, one without a name",
    spec({ ports: [{ port: 1, name: "a" }, { port: 2 }] }),
    "spec.ports[1].name is required where there are several ports",
  ],
  [
    "a port name twice",
    spec({ ports: [{ port: 1, name: "a" }, { port: 2, name: "a" }] }),
    "spec.ports[1].name must be unique",
  ],
  [
    "a port number twice",
    spec({ ports: [{ port: 1, name: "a" }, { port: 1, name: "b" }] }),
    "spec.ports[1].port must be unique",
  ],
  [
    "an external IP that is none",
    spec({ externalIPs: ["198.51.100.1", "x"] }),
    "spec.externalIPs[1] must be an IP address",
  ],
  [
    "a source range that is none",
    spec({ loadBalancerSourceRanges: ["203.0.113.0"] }),
    "spec.loadBalancerSourceRanges[0] must be a CIDR",
  ],
  [
    "an unknown policy",
    spec({ externalTrafficPolicy: "local" }),
    "spec.externalTrafficPolicy must be one of Cluster, Local",
  ],
  [
    "an affinity of two days",
    spec({
      sessionAffinity: "ClientIP",
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 172_800 } },
    }),
    "timeoutSeconds must be between 1 and 86400",
  ],
  ["an ingress that is none", {
    ...serviceObject,
    status: { loadBalancer: { ingress: [{ ip: "x" }] } },
  }, "status.loadBalancer.ingress[0].ip must be an IP address"],
  [
    "an endpoint of the other family",
    { ...slice, endpoints: [{ addresses: ["fd00::1"] }] },
    'endpoints[0].addresses[0] must be an IPv4 address, not "fd00::1"',
  ],
  [
    "an endpoint without an address",
    { ...slice, endpoints: [{}] },
    "endpoints[0].addresses must hold an address",
  ],
  ["a slice without a type", { ...slice, addressType: undefined }, "addressType is required"],
  [
    "an endpoint port too high",
    { ...slice, ports: [{ port: 65536 }] },
    "ports[0].port must be between 0 and 65535",
  ],
  [
    "an endpoint port's name twice",
    { ...slice, ports: [{ name: "a", port: 1 }, { name: "a", port: 2 }] },
    'ports[1].name must be unique, but "a" is there twice',
  ],
  [
    "a long port name",
    spec({ ports: [{ port: 1, name: "a".repeat(64) }] }),
    "spec.ports[0].name must be no more than 63 characters",
  ],
  [
    "a Service name with a dot",
    named(serviceObject, "a.b"),
    'metadata.name must be lower-case letters, digits and "-", not "a.b"',
  ],
  ["a pod CIDR that is none", {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "a" },
    spec: { podCIDRs: ["10.128.0.0"] },
  }, "spec.podCIDRs[0] must be a CIDR"],
  ["a service CIDR that is none", {
    apiVersion: "networking.k8s.io/v1",
    kind: "ServiceCIDR",
    metadata: { name: "a" },
    spec: { cidrs: ["x/1"] },
  }, "spec.cidrs[0] must be a CIDR"],
];

for (const [name, object, expected] of breaches) {
  Deno.test(`loadManifest() refuses what the apiserver would: ${name}`, () => {
    const found = sentences(JSON.stringify(object, null, 1), "a.json");
    assert.equal(found.length, 1, found.join("\n"));
    assert.ok(found[0].includes(expected), found[0]);
    assert.match(found[0], /a\.json:\d+:\d+"/);
  });
}

Deno.test("loadManifest() accepts names of the greatest length, FQDN slices and 5,000 endpoints", () => {
  const endpoints = Array.from({ length: 5000 }, (_, i) => ({
    addresses: [`10.128.${i >> 8}.${i & 255}`],
  }));
  const objects = [
    named(serviceObject, "a".repeat(63)),
    named({ ...slice, endpoints }, "b".repeat(253)),
    named(slice, "web.b-1"),
    { ...slice, ports: [{ name: "a".repeat(63), port: 1 }] },
    { ...slice, addressType: "FQDN", endpoints: [{ addresses: ["db.example"] }] },
  ];
  const text = objects.map((object) => JSON.stringify(object)).join("\n---\n");
  assert.equal(namesIn(text, "a.yaml").length, 5);
});

Deno.test("loadManifest() tells at most twenty problems of a file", () => {
  const ports = Array.from({ length: 30 }, (_, i) => ({ name: `p${i}`, port: 70_000 + i }));
  assert.equal(sentences(JSON.stringify(spec({ ports })), "a.json").length, 20);
});
