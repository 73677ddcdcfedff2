import assert from "node:assert/strict";
import { freeEnds } from "../../../../lib/doctor/rehearsal/free_ends.ts";
import type { FamilySettings, ServicePort, Snapshot } from "../../../../lib/snapshot/snapshot.ts";
import { endpointOf, servicePortOf } from "../../../fakes/service_ports.ts";

const client = (snapshot: Snapshot) => freeEnds(snapshot)?.client;

function snapshotOf(
  settings: Partial<FamilySettings> = {},
  service: Partial<ServicePort> = {},
): Snapshot {
  const port = servicePortOf(service);
  return {
    family: "IPv4",
    settings: {
      masqueradeAll: false,
      localTraffic: { kind: "unknown" },
      nodePortAddresses: { kind: "all" },
      serviceCIDRs: [],
      leftovers: false,
      ...settings,
    },
    services: new Map([[port.key, port]]),
  };
}

const taken: readonly (readonly [string, Snapshot])[] = [
  ["a ServiceCIDR", snapshotOf({ serviceCIDRs: ["192.0.2.0/24"] })],
  ["a pod range", snapshotOf({ localTraffic: { kind: "source", cidr: "192.0.2.0/24" } })],
  [
    "an address of the node",
    snapshotOf({ nodePortAddresses: { kind: "listed", addresses: ["192.0.2.202"] } }),
  ],
  ["a cluster IP", snapshotOf({}, { clusterIP: "192.0.2.201" })],
  ["an external IP", snapshotOf({}, { externalIPs: ["192.0.2.202"] })],
  ["a load balancer", snapshotOf({}, { loadBalancerVIPs: ["192.0.2.201"] })],
  ["an endpoint", snapshotOf({}, { clusterEndpoints: [endpointOf("192.0.2.201:80")] })],
];

Deno.test("the ends of a rehearsal are addresses for documentation", () => {
  assert.deepEqual(freeEnds(snapshotOf()), { client: "192.0.2.201", node: "192.0.2.202" });
  const six = freeEnds({ ...snapshotOf(), family: "IPv6" });
  assert.deepEqual(six, { client: "2001:db8::c1", node: "2001:db8::c2" });
});

for (const [name, snapshot] of taken) {
  Deno.test(`the ends are others where one would be ${name}`, () => {
    assert.equal(client(snapshot), "198.51.100.201");
  });
}

Deno.test("there are none where everything is taken", () => {
  assert.equal(freeEnds(snapshotOf({ serviceCIDRs: ["0.0.0.0/0"] })), undefined);
});
