/** The edges of what an apiserver takes: what is just too much is refused, what is just right is not. */
import assert from "node:assert/strict";
import { SharedTexts } from "../../../lib/base/shared_texts.ts";
import { loadManifest } from "../../../lib/watchers/manifests_load.ts";

type Fields = Readonly<Record<string, unknown>>;

const service = (spec: Fields, rest: Fields = {}) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web", namespace: "shop" },
  spec: { clusterIP: "172.30.0.1", ports: [{ port: 80 }], ...spec },
  ...rest,
});
const slice = (fields: Fields) => ({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { name: "web-1", namespace: "shop" },
  addressType: "IPv4",
  ports: [{ name: "http", port: 80 }],
  endpoints: [{ addresses: ["10.128.0.1"] }],
  ...fields,
});
const named = (apiVersion: string, kind: string, metadata: Fields) => ({
  apiVersion,
  kind,
  metadata,
});
const affinity = (timeoutSeconds: number) =>
  service({
    sessionAffinity: "ClientIP",
    sessionAffinityConfig: { clientIP: { timeoutSeconds } },
  });
const ingress = (entry: Fields) => service({}, { status: { loadBalancer: { ingress: [entry] } } });
const dual = { clusterIPs: ["172.30.0.1", "fd00:172:30::1"], ipFamilies: ["IPv4", "IPv6"] };

/** What is said of an object; nothing where it is taken. */
function saidOf(object: Fields): readonly string[] {
  const loaded = loadManifest(JSON.stringify(object), { file: "a.json", texts: new SharedTexts() });
  return loaded.kind === "broken" ? loaded.problems.map(({ message }) => message) : [];
}

const taken: readonly (readonly [what: string, object: Fields])[] = [
  ["the highest port", service({ ports: [{ port: 65_535, nodePort: 65_535 }] })],
  ["the lowest port", service({ ports: [{ port: 1, nodePort: 0 }] })],
  [
    "one number of two protocols",
    service({
      ports: [{ name: "a", port: 53, protocol: "UDP" }, { name: "b", port: 53, protocol: "TCP" }],
    }),
  ],
  ["a day of affinity", affinity(86_400)],
  ["a second of affinity", affinity(1)],
  ["the highest port for health", service({ healthCheckNodePort: 65_535 })],
  ["words that are empty", service({ type: "", externalTrafficPolicy: "", sessionAffinity: "" })],
  [
    "every known word",
    service({
      type: "LoadBalancer",
      sessionAffinity: "None",
      externalTrafficPolicy: "Local",
      internalTrafficPolicy: "Local",
    }),
  ],
  ["a range with a space", service({ loadBalancerSourceRanges: [" 203.0.113.0/24 "] })],
  ["two families", service(dual)],
  ["no cluster IP", service({ clusterIP: "None", clusterIPs: ["None"] })],
  ["a load balancer by name", ingress({ hostname: "lb.example" })],
  ["an ingress without an address", ingress({ ip: "" })],
  ["an ingress by a proxy", ingress({ ip: "203.0.113.8", ipMode: "Proxy" })],
  ["a slice without ports", slice({ ports: [] })],
  ["a port of no number", slice({ ports: [{ name: "all" }] })],
  ["the highest port of an endpoint", slice({ ports: [{ port: 65_535 }] })],
  ["the longest name of a Node", named("v1", "Node", { name: "a".repeat(253) })],
  ["a Node with dots", named("v1", "Node", { name: "a.b-1.c" })],
  ["the longest Namespace", named("v1", "Namespace", { name: "a".repeat(63) })],
  ["a range of Services", {
    ...named("networking.k8s.io/v1", "ServiceCIDR", { name: "kubernetes" }),
    spec: { cidrs: ["172.30.0.0/16", "fd00:172:30::/108"] },
  }],
];

for (const [what, object] of taken) {
  Deno.test(`manifests may hold ${what}`, () => assert.deepEqual(saidOf(object), []));
}

const refused: readonly (readonly [what: string, object: Fields, says: string])[] = [
  ["a port too high", service({ ports: [{ port: 65_536 }] }), "between 1 and 65535, not 65536"],
  [
    "a port below all",
    service({ ports: [{ port: 1, nodePort: -1 }] }),
    "between 0 and 65535, not -1",
  ],
  ["more than a day", affinity(86_401), "between 1 and 86400, not 86401"],
  ["less than no time", affinity(-1), "between 1 and 86400, not -1"],
  [
    "a health port too high",
    service({ healthCheckNodePort: 65_536 }),
    "healthCheckNodePort must be between 0 and 65535",
  ],
  ["an unknown affinity", service({ sessionAffinity: "clientIP" }), "one of None, ClientIP"],
  ["an unknown policy", service({ internalTrafficPolicy: "local" }), "one of Cluster, Local"],
  [
    "three cluster IPs",
    service({ clusterIPs: [...dual.clusterIPs, "172.30.0.2"] }),
    "clusterIPs must not hold more than two",
  ],
  [
    "a second cluster IP that is none",
    service({ clusterIPs: ["172.30.0.1", "x"] }),
    'clusterIPs[1] must be an IP address, not "x"',
  ],
  [
    "families the other way round",
    service({ ...dual, ipFamilies: ["IPv4", "IPv4"] }),
    "ipFamilies[1] must be the family of the cluster IP",
  ],
  ["an unknown ingress", ingress({ ip: "203.0.113.8", ipMode: "Vip" }), "one of VIP, Proxy"],
  [
    "a Namespace that is too long",
    service({}, {
      metadata: { name: "web", namespace: "a".repeat(64) },
    }),
    "metadata.namespace must be no more than 63",
  ],
  ["an unknown kind of address", slice({ addressType: "IPV4" }), "one of IPv4, IPv6, FQDN"],
  ["an unknown protocol", slice({ ports: [{ protocol: "tcp" }] }), "one of TCP, UDP, SCTP"],
  ["a negative port", slice({ ports: [{ port: -1 }] }), "between 0 and 65535, not -1"],
  ["two ports without a name", slice({ ports: [{ port: 1 }, { port: 2 }] }), "ports[1].name"],
  [
    "a slice of IPv6 with IPv4",
    slice({ addressType: "IPv6" }),
    'must be an IPv6 address, not "10.128.0.1"',
  ],
  [
    "a Node whose name is too long",
    named("v1", "Node", { name: "a".repeat(254) }),
    "no more than 253 characters",
  ],
  [
    "a Namespace with a dot",
    named("v1", "Namespace", { name: "a.b" }),
    'lower-case letters, digits and "-", not "a.b"',
  ],
  ["a name that ends in a dash", named("v1", "Namespace", { name: "a-" }), "lower-case letters"],
  [
    "a Node whose name begins with a dot",
    named("v1", "Node", { name: ".a" }),
    "lower-case letters",
  ],
];

for (const [what, object, says] of refused) {
  Deno.test(`manifests may not hold ${what}`, () => {
    const said = saidOf(object);
    assert.ok(said.some((each) => each.includes(says)), said.join("\n") || "it was taken");
  });
}
