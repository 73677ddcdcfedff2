import assert from "node:assert/strict";
import { faultOf, withoutFaults } from "../../../lib/snapshot/faults.ts";
import type { ServicePort } from "../../../lib/snapshot/snapshot.ts";
import { describedPort } from "./service_port.ts";

const pod = { ip: "10.128.0.1", port: 80, isLocal: false };

interface Case {
  readonly name: string;
  readonly sample: Partial<ServicePort>;
  readonly fault: string;
}

const cases: readonly Case[] = [
  {
    name: "an endpoint of the other family",
    sample: { clusterEndpoints: [{ ...pod, ip: "fd00:10:128::1" }] },
    fault: 'endpoint "fd00:10:128::1" is not of family IPv4',
  },
  {
    name: "an endpoint's port",
    sample: { localEndpoints: [{ ...pod, port: 70_000 }] },
    fault: "endpoint port 70000 is out of range",
  },
  {
    name: "a source range of the other family",
    sample: { loadBalancerVIPs: ["203.0.113.1"], sourceRanges: ["fd00::/8"] },
    fault: '"fd00::/8" is not of family IPv4',
  },
  {
    name: "a cluster IP of the other family",
    sample: { clusterIP: "fd00:172:30::1" },
    fault: '"fd00:172:30::1" is not of family IPv4',
  },
  { name: "the port", sample: { port: 0 }, fault: "port 0 is out of range" },
  { name: "the node port", sample: { nodePort: 65_536 }, fault: "node port 65536 is out of range" },
];

for (const { fault, name, sample } of cases) {
  Deno.test(`faultOf() says what is wrong: ${name}`, () => {
    assert.equal(faultOf({ ...describedPort({}), ...sample }, "IPv4"), fault);
  });
}

Deno.test("faultOf() finds nothing wrong with a Service without addresses", () => {
  const bare = describedPort({ service: { clusterIP: "" } });
  for (const family of ["IPv4", "IPv6"] as const) assert.equal(faultOf(bare, family), undefined);
});

Deno.test("withoutFaults() parts what can be written from what cannot", () => {
  const good = describedPort({ endpoints: { 1: "ready" } });
  const bad = { ...good, key: "shop/bad:http/TCP", port: 0 };
  const all = new Map([[good.key, good], [bad.key, bad]]);
  const { faults, sound } = withoutFaults(all, "IPv4");
  assert.deepEqual([...sound.values()], [good]);
  assert.deepEqual([...faults], [[bad.key, "port 0 is out of range"]]);
  const whole = new Map([[good.key, good]]);
  assert.equal(withoutFaults(whole, "IPv4").sound, whole);
});
