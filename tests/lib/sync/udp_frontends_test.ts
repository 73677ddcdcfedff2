import assert from "node:assert/strict";
import type { FakeFlow } from "../../../lib/kernel/conntrack/fake_conntrack.ts";
import { filterSelects, type Flow } from "../../../lib/kernel/conntrack/conntrack.ts";
import type { ServicePort } from "../../../lib/snapshot/snapshot.ts";
import { UdpFrontends } from "../../../lib/sync/udp_frontends.ts";
import { endpointOf, servicePortOf } from "../../fakes/service_ports.ts";

const clusterIP = "172.30.1.1";
const externalIP = "198.51.100.7";
const loadBalancerIP = "203.0.113.4";
const nodeIP = "192.168.0.2";
const servingIP = "10.128.0.4";
const goneIP = "10.128.2.6";
const endpointPort = 9090;

const dns = servicePortOf({
  name: "dns",
  protocol: "UDP",
  clusterIP,
  port: 53,
  externalIPs: [externalIP],
  loadBalancerVIPs: [loadBalancerIP],
  nodePort: 32_000,
  servingEndpoints: [endpointOf(`${servingIP}:${endpointPort}`)],
});
const emptyDns: ServicePort = { ...dns, servingEndpoints: [] };

/** A flow to a frontend, answered by an endpoint. */
function flowTo(destination: string, port: number, answeredBy: string, protocol = 17): Flow {
  const { ip, port: endpoint } = endpointOf(answeredBy);
  const flow: FakeFlow = {
    family: destination.includes(":") ? "IPv6" : "IPv4",
    protocol,
    original: {
      source: "10.128.9.9",
      destination,
      sourcePort: 4000,
      destinationPort: port,
    },
    reply: {
      source: ip,
      destination: "10.128.9.9",
      sourcePort: endpoint,
      destinationPort: 4000,
    },
  };
  return { id: 1, zone: 0, ...flow };
}

const gone = `${goneIP}:${endpointPort}`;
const serving = `${servingIP}:${endpointPort}`;

const cases: readonly {
  name: string;
  ports: readonly ServicePort[];
  /** All ports when absent. */
  changed?: readonly ServicePort[];
  flow: Flow;
  stale: boolean;
}[] = [
  ...[clusterIP, externalIP, loadBalancerIP].flatMap((ip) => [
    {
      name: `${ip}:53 to a serving endpoint`,
      ports: [dns],
      flow: flowTo(ip, 53, serving),
      stale: false,
    },
    {
      name: `${ip}:53 to an endpoint that is gone`,
      ports: [dns],
      flow: flowTo(ip, 53, gone),
      stale: true,
    },
    {
      name: `${ip}:53 to the old port of a serving endpoint`,
      ports: [dns],
      flow: flowTo(ip, 53, `${servingIP}:8080`),
      stale: true,
    },
    {
      name: `${ip}:53 that never was translated`,
      ports: [dns],
      flow: flowTo(ip, 53, `${ip}:53`),
      stale: true,
    },
    {
      name: `${ip} on a port that is no service port`,
      ports: [dns],
      flow: flowTo(ip, 3000, gone),
      stale: false,
    },
    {
      name: `${ip}:53 by TCP`,
      ports: [dns],
      flow: flowTo(ip, 53, gone, 6),
      stale: false,
    },
    {
      name: `${ip}:53 by SCTP`,
      ports: [dns],
      flow: flowTo(ip, 53, gone, 132),
      stale: false,
    },
    {
      name: `${ip}:53 of a Service without serving endpoints`,
      ports: [emptyDns],
      flow: flowTo(ip, 53, serving),
      stale: true,
    },
    {
      name: `${ip}:53 of a Service that did not change`,
      ports: [dns],
      changed: [],
      flow: flowTo(ip, 53, gone),
      stale: false,
    },
  ]),
  {
    name: "node port to a serving endpoint",
    ports: [dns],
    flow: flowTo(nodeIP, 32_000, serving),
    stale: false,
  },
  {
    name: "node port to an endpoint that is gone",
    ports: [dns],
    flow: flowTo(nodeIP, 32_000, gone),
    stale: true,
  },
  {
    name: "node port by TCP",
    ports: [dns],
    flow: flowTo(nodeIP, 32_000, gone, 6),
    stale: false,
  },
  {
    name: "node port of a Service without serving endpoints",
    ports: [emptyDns],
    flow: flowTo(nodeIP, 32_000, gone),
    stale: false,
  },
  {
    name: "cluster IP whose port is another Service's node port, to its own serving endpoint",
    ports: [
      dns,
      servicePortOf({
        name: "odd",
        protocol: "UDP",
        clusterIP: "172.30.1.2",
        port: 32_000,
        servingEndpoints: [endpointOf("10.128.0.9:1")],
      }),
    ],
    flow: flowTo("172.30.1.2", 32_000, "10.128.0.9:1"),
    stale: false,
  },
  {
    name: "cluster IP of a Service that lost it to an older one",
    ports: [{ ...dns, clusterIP: "" }],
    flow: flowTo(clusterIP, 53, gone),
    stale: false,
  },
  {
    name: "IPv6 cluster IP to an endpoint that is gone",
    ports: [{
      ...dns,
      clusterIP: "fd00:172:30::a",
      servingEndpoints: [endpointOf("[fd00:10:128::4]:53")],
    }],
    flow: flowTo("fd00:172:30::a", 53, "[fd00:10:128::5]:53"),
    stale: true,
  },
  {
    name: "IPv6 cluster IP to a serving endpoint",
    ports: [{
      ...dns,
      clusterIP: "fd00:172:30::a",
      servingEndpoints: [endpointOf("[fd00:10:128::4]:53")],
    }],
    flow: flowTo("fd00:172:30::a", 53, "[fd00:10:128::4]:53"),
    stale: false,
  },
];

for (const { changed, flow, name, ports, stale } of cases) {
  Deno.test(`UdpFrontends judges a flow: ${name} is ${stale ? "stale" : "fine"}`, () => {
    const frontends = new UdpFrontends(flow.family);
    const udpPorts = new Map(ports.map((port) => [port.key, port]));
    frontends.update(udpPorts.keys(), udpPorts);
    const review = frontends.review((changed ?? ports).map(({ key }) => key));
    assert.equal(review.isStale(flow), stale);
    const selected = review.filters.some((filter) => filterSelects(filter, flow));
    assert.ok(selected || !stale, "a stale flow is selected by a filter");
  });
}

Deno.test("UdpFrontends reads the whole table once when many frontends changed", () => {
  const ports = Array.from(
    { length: 20 },
    (_, i) =>
      servicePortOf({ name: `dns${i}`, protocol: "UDP", clusterIP: `172.30.1.${i}`, port: 53 }),
  );
  const frontends = new UdpFrontends("IPv4");
  const udpPorts = new Map(ports.map((port) => [port.key, port]));
  frontends.update(udpPorts.keys(), udpPorts);
  assert.deepEqual(frontends.review(udpPorts.keys()).filters, [{ family: "IPv4", protocol: 17 }]);
  assert.deepEqual(frontends.review([ports[3].key]).filters, [
    { family: "IPv4", protocol: 17, destination: "172.30.1.3", destinationPort: 53 },
  ]);
});

Deno.test("UdpFrontends follows a frontend from one Service to another in one update", () => {
  const frontends = new UdpFrontends("IPv4");
  const other = servicePortOf({ ...dns, name: "other", key: "test/other/UDP" });
  const before = new Map([[dns.key, dns]]);
  frontends.update([dns.key], before);
  // In either order of the keys.
  for (const keys of [[dns.key, other.key], [other.key, dns.key]]) {
    frontends.update(keys, new Map([[other.key, other]]));
    assert.equal(frontends.review([other.key]).isStale(flowTo(clusterIP, 53, gone)), true);
    assert.equal(frontends.review([dns.key]).isStale(flowTo(clusterIP, 53, gone)), false);
    frontends.update(keys, before);
  }
});

Deno.test("UdpFrontends forgets the frontends of a Service that is gone", () => {
  const frontends = new UdpFrontends("IPv4");
  frontends.update([dns.key], new Map([[dns.key, dns]]));
  frontends.update([dns.key], new Map());
  const review = frontends.review([dns.key]);
  assert.deepEqual(review.filters, []);
  assert.equal(review.isStale(flowTo(clusterIP, 53, gone)), false);
  assert.equal(review.isStale(flowTo(nodeIP, 32_000, gone)), false);
});

Deno.test("an address that a Service gave up decides nothing any more", () => {
  const frontends = new UdpFrontends("IPv4");
  const { key } = dns;
  frontends.update([key], new Map([[key, dns]]));
  const flow = flowTo(externalIP, 53, gone);
  assert.equal(frontends.review([key]).isStale(flow), true);
  frontends.update([key], new Map([[key, { ...dns, externalIPs: [] }]]));
  assert.equal(frontends.review([key]).isStale(flow), false);
});

Deno.test("an address that went from one Service to another belongs to the new one", () => {
  const frontends = new UdpFrontends("IPv4");
  const other = { ...dns, key: `${dns.key}-2`, servingEndpoints: [endpointOf(gone)] };
  frontends.update([dns.key], new Map([[dns.key, dns]]));
  frontends.update([dns.key, other.key], new Map([[other.key, other]]));
  const review = frontends.review([dns.key, other.key]);
  assert.equal(review.isStale(flowTo(clusterIP, 53, gone)), false);
  assert.equal(review.isStale(flowTo(clusterIP, 53, serving)), true);
  assert.equal(review.isStale(flowTo("10.0.0.9", 32_000, serving)), true);
});
