import assert from "node:assert/strict";
import { parseIp } from "../../../lib/base/ip.ts";
import type { Fate } from "../../../lib/snapshot/snapshot.ts";
import { describedPort, type EndpointWords, idsOf, type PortDescription } from "./service_port.ts";

const fates: readonly {
  readonly name: string;
  readonly service?: PortDescription["service"];
  readonly nodePort?: number;
  readonly endpoints: EndpointWords;
  readonly internal: Fate;
  readonly external: Fate;
}[] = [
  { name: "no endpoints", endpoints: {}, internal: "reject", external: "reject" },
  {
    name: "no endpoints with Local policies",
    service: { internalPolicyLocal: true, externalPolicyLocal: true },
    nodePort: 30080,
    endpoints: { 1: "unready here" },
    internal: "reject",
    external: "reject",
  },
  {
    name: "internal Local, none here",
    service: { internalPolicyLocal: true },
    nodePort: 30080,
    endpoints: { 1: "ready" },
    internal: "drop",
    external: "forward",
  },
  {
    name: "external Local, none here",
    service: { externalPolicyLocal: true },
    nodePort: 30080,
    endpoints: { 1: "ready" },
    internal: "forward",
    external: "drop",
  },
  {
    name: "external Local, one here",
    service: { externalPolicyLocal: true },
    nodePort: 30080,
    endpoints: { 1: "ready here" },
    internal: "forward",
    external: "forward",
  },
  {
    name: "external Local without any external frontend counts as none here",
    service: { externalPolicyLocal: true },
    endpoints: { 1: "ready here" },
    internal: "forward",
    external: "drop",
  },
];

for (const row of fates) {
  Deno.test(`buildServicePort() decides fates: ${row.name}`, () => {
    const port = describedPort({
      service: row.service ?? {},
      port: { nodePort: row.nodePort ?? 0 },
      endpoints: row.endpoints,
    });
    assert.deepEqual([port.internal, port.external], [row.internal, row.external]);
  });
}

Deno.test("buildServicePort() counts node ports, load balancer addresses and external IPs as external access", () => {
  const accessible = (description: PortDescription) =>
    describedPort(description).externallyAccessible;
  assert.equal(accessible({}), false);
  assert.equal(accessible({ port: { nodePort: 30080 } }), true);
  assert.equal(accessible({ service: { loadBalancerVIPs: ["203.0.113.1"] } }), true);
  assert.equal(accessible({ service: { listsExternalIPs: true } }), true);
});

Deno.test("buildServicePort() lists every serving endpoint of a UDP port, and none of others", () => {
  const endpoints = { 1: "ready", 2: "fading", 3: "unready", 4: "fading here" };
  const udp = describedPort({ port: { protocol: "UDP" }, endpoints });
  assert.deepEqual(idsOf(udp.servingEndpoints), [1, 2, 4]);
  assert.deepEqual(idsOf(udp.clusterEndpoints), [1]);
  assert.deepEqual(describedPort({ endpoints }).servingEndpoints, []);
});

Deno.test("buildServicePort() lists this node's endpoints of all readiness, whatever the policies", () => {
  const endpoints = { 1: "ready", 2: "fading here", 3: "unready here", 4: "ready here" };
  const port = describedPort({ endpoints });
  assert.deepEqual(idsOf(port.nodeEndpoints), [2, 3, 4]);
  assert.deepEqual(idsOf(port.clusterEndpoints), [1, 4]);
  assert.deepEqual(describedPort({ endpoints: { 1: "ready" } }).nodeEndpoints, []);
});

Deno.test("buildServicePort() says whether the source ranges hold the node's address", () => {
  const holds = (ip: string | undefined, sourceRanges: readonly string[]) => {
    const bytes = ip === undefined ? undefined : parseIp(ip);
    return describedPort({ service: { sourceRanges }, node: bytes ? { ip: bytes } : {} })
      .sourceRangesHoldNode;
  };
  assert.equal(holds("192.168.1.1", ["203.0.113.0/24", "192.168.0.0/16"]), true);
  assert.equal(holds("192.168.1.1", ["203.0.113.0/24"]), false);
  assert.equal(holds("192.168.1.1", []), false);
  assert.equal(holds(undefined, ["192.168.0.0/16"]), false);
});
