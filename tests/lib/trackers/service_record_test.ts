import assert from "node:assert/strict";
import type { IpFamily } from "../../../lib/base/ip_family.ts";
import type { Service } from "../../../lib/kube/objects.ts";
import { readServiceRecord, type ServiceRecord } from "../../../lib/trackers/service_record.ts";
import { service } from "./objects.ts";

interface Read {
  readonly record: ServiceRecord | undefined;
  readonly topics: readonly string[];
}

function read(changes: Partial<Service>, family: IpFamily = "IPv4", allowExternalIPs = true): Read {
  const topics: string[] = [];
  const record = readServiceRecord(service(changes), {
    family,
    allowExternalIPs,
    notice: ({ topic }) => topics.push(topic),
  });
  return { record, topics };
}

const v6 = "fd00:172:30::1";
const both = {
  clusterIP: "172.30.0.1",
  clusterIPs: ["172.30.0.1", v6],
  ipFamilies: ["IPv4", "IPv6"],
};

const skipped: readonly (readonly [string, Partial<Service>, IpFamily])[] = [
  ["headless", { clusterIP: "None" }, "IPv4"],
  ["headless without ports", { clusterIP: "None", ports: [] }, "IPv4"],
  ["no cluster IP yet", { clusterIP: "", clusterIPs: [], ipFamilies: [] }, "IPv4"],
  ["ExternalName with a cluster IP", { type: "ExternalName" }, "IPv4"],
  ["another proxy's", { otherProxy: true }, "IPv4"],
  ["IPv6 for the IPv4 family", { clusterIP: v6 }, "IPv4"],
  ["IPv4 for the IPv6 family", {}, "IPv6"],
  ["IPv6 for the IPv4 family, families unknown", { clusterIP: v6, ipFamilies: [] }, "IPv4"],
  ["a cluster IP that is no address", { clusterIP: "172.30.0.300" }, "IPv4"],
];

for (const [name, changes, family] of skipped) {
  Deno.test(`readServiceRecord() skips a Service: ${name}`, () => {
    assert.equal(read(changes, family).record, undefined);
  });
}

const clusterIPs: readonly (readonly [string, Partial<Service>, string, string])[] = [
  ["IPv4, families unknown", { ipFamilies: [] }, "172.30.0.1", ""],
  ["IPv6, families unknown", { clusterIP: v6, ipFamilies: [] }, "", v6],
  ["IPv4", {}, "172.30.0.1", ""],
  ["IPv6", { clusterIP: v6 }, "", v6],
  ["both, IPv4 first", both, "172.30.0.1", v6],
  [
    "both, IPv6 first",
    { clusterIP: v6, clusterIPs: [v6, "172.30.0.1"], ipFamilies: ["IPv6", "IPv4"] },
    "172.30.0.1",
    v6,
  ],
  ["a family without its address", { ...both, clusterIPs: ["172.30.0.1"] }, "172.30.0.1", ""],
];

for (const [name, changes, ipv4, ipv6] of clusterIPs) {
  Deno.test(`readServiceRecord() takes the family's cluster IP: ${name}`, () => {
    const taken = (family: IpFamily) => read(changes, family).record?.spec.clusterIP ?? "";
    assert.deepEqual([taken("IPv4"), taken("IPv6")], [ipv4, ipv6]);
  });
}

Deno.test("readServiceRecord() makes one port of each, and of two alike the last", () => {
  const { record } = read({
    ports: [
      { name: "http", protocol: "TCP", port: 80, nodePort: 0 },
      { name: "", protocol: "UDP", port: 53, nodePort: 30053 },
      { name: "http", protocol: "TCP", port: 81, nodePort: 0 },
    ],
  });
  assert.deepEqual(record?.ports.map(({ key, port, nodePort }) => [key, port, nodePort]), [
    ["shop/web:http/TCP", 81, 0],
    ["shop/web/UDP", 53, 30053],
  ]);
});

Deno.test("readServiceRecord() leaves out ports with impossible numbers and says so", () => {
  const port = { name: "http", protocol: "TCP" as const, port: 80, nodePort: 0 };
  const { record, topics } = read({
    ports: [
      { ...port, port: 0 },
      { ...port, port: 65_536 },
      { ...port, nodePort: 70_000 },
      { ...port, name: "fine", port: 65_535 },
    ],
  });
  assert.deepEqual(record?.ports.map(({ portName }) => portName), ["fine"]);
  assert.deepEqual(new Set(topics), new Set(["port"]));
});

Deno.test("readServiceRecord() keeps the addresses of its family, canonical, in order, twice where given twice", () => {
  const changes: Partial<Service> = {
    ...both,
    type: "LoadBalancer",
    externalIPs: [
      "198.51.100.002",
      "2001:DB8:51::1",
      "",
      "nonsense",
      "198.51.100.1",
      "198.51.100.1",
    ],
    ingress: [
      { ip: "203.0.113.2", ipMode: "VIP" },
      { ip: "203.0.113.1", ipMode: "Proxy" },
      { ip: "2001:db8:113:0::1", ipMode: "VIP" },
    ],
  };
  const ipv4 = read(changes);
  assert.deepEqual(ipv4.record?.spec.externalIPs, ["198.51.100.2", "198.51.100.1", "198.51.100.1"]);
  assert.deepEqual(ipv4.record?.spec.loadBalancerVIPs, ["203.0.113.2"]);
  assert.deepEqual(ipv4.topics, ["external-ip"]);
  const ipv6 = read(changes, "IPv6");
  assert.deepEqual(ipv6.record?.spec.externalIPs, ["2001:db8:51::1"]);
  assert.deepEqual(ipv6.record?.spec.loadBalancerVIPs, ["2001:db8:113::1"]);
});

Deno.test("readServiceRecord() serves a load balancer address whatever the type", () => {
  const { record } = read({ type: "ClusterIP", ingress: [{ ip: "203.0.113.1", ipMode: "VIP" }] });
  assert.deepEqual(record?.spec.loadBalancerVIPs, ["203.0.113.1"]);
});

const ranges:
  readonly (readonly [string, readonly string[], readonly string[], readonly string[]])[] = [
    ["none", [], [], []],
    ["one", ["203.0.113.0/24"], ["203.0.113.0/24"], []],
    ["space around", [" 203.0.113.0/24", "198.51.100.0/24\n"], [
      "203.0.113.0/24",
      "198.51.100.0/24",
    ], []],
    ["host bits are masked", ["203.0.113.77/24"], ["203.0.113.0/24"], []],
    ["a zero range of the family opens all", ["203.0.113.0/24", "0.0.0.0/0"], [], []],
    ["half of everything does not", ["0.0.0.0/1"], ["0.0.0.0/1"], []],
    ["a zero range of the other family changes nothing", ["203.0.113.0/24", "::/0"], [
      "203.0.113.0/24",
    ], []],
    ["only the other family: open, and said", ["2001:db8::/32"], [], ["open-IPv4"]],
    ["nonsense is passed over and said", ["203.0.113.0/24", "203.0.113.0"], ["203.0.113.0/24"], [
      "source-range",
    ]],
    ["blank is passed over", [" "], [], []],
  ];

for (const [name, given, expected, topics] of ranges) {
  Deno.test(`readServiceRecord() reads source ranges: ${name}`, () => {
    const answer = read({ type: "LoadBalancer", loadBalancerSourceRanges: given });
    assert.deepEqual(answer.record?.spec.sourceRanges, expected);
    assert.deepEqual(answer.topics, topics);
  });
}

const policies: readonly (readonly [string, Partial<Service>, boolean, number])[] = [
  ["ClusterIP", { type: "ClusterIP" }, false, 0],
  ["ClusterIP with an external IP", { type: "ClusterIP", externalIPs: ["198.51.100.1"] }, true, 0],
  ["NodePort", { type: "NodePort" }, true, 0],
  ["LoadBalancer", { type: "LoadBalancer" }, true, 32_000],
  ["LoadBalancer, Cluster", { type: "LoadBalancer", externalTrafficPolicy: "Cluster" }, false, 0],
];

for (const [name, changes, local, healthCheckNodePort] of policies) {
  Deno.test(`readServiceRecord() knows where external Local counts: ${name}`, () => {
    const { record } = read({
      externalTrafficPolicy: "Local",
      healthCheckNodePort: 32_000,
      ...changes,
    });
    assert.equal(record?.spec.externalPolicyLocal, local);
    assert.equal(record?.spec.healthCheckNodePort, healthCheckNodePort);
  });
}

Deno.test("readServiceRecord() says that a health check node port is missing", () => {
  const { record, topics } = read({ type: "LoadBalancer", externalTrafficPolicy: "Local" });
  assert.equal(record?.spec.healthCheckNodePort, 0);
  assert.deepEqual(topics, ["health-check"]);
});

Deno.test("readServiceRecord() without external IPs still counts them as external access", () => {
  const { record } = read({ externalIPs: ["198.51.100.1"] }, "IPv4", false);
  assert.deepEqual(record?.spec.externalIPs, []);
  assert.equal(record?.spec.listsExternalIPs, true);
});
