import assert from "node:assert/strict";
import { chooseFrontends } from "../../../../lib/doctor/rehearsal/choose_frontends.ts";
import type { Frontend } from "../../../../lib/doctor/rehearsal/frontends.ts";
import type { ServicePort } from "../../../../lib/snapshot/snapshot.ts";
import { servicePortOf } from "../../../fakes/service_ports.ts";

function frontend(rest: Partial<Frontend>, service: Partial<ServicePort> = {}): Frontend {
  return {
    kind: "cluster IP",
    ip: "172.30.1.1",
    port: 80,
    protocol: "TCP",
    service: servicePortOf(service),
    ...rest,
  };
}

const many = Array.from({ length: 1_000 }, (_, i) => frontend({ port: i + 1 }));

Deno.test("all frontends are chosen where there is room", () => {
  assert.equal(chooseFrontends(many, 1_000), many);
});

Deno.test("a sample is spread over all of a kind", () => {
  const chosen = chooseFrontends(many, 10);
  assert.deepEqual(chosen.map(({ port }) => port), [
    1,
    101,
    201,
    301,
    401,
    501,
    601,
    701,
    801,
    901,
  ]);
});

const rare: readonly Frontend[] = [
  frontend({ protocol: "UDP" }),
  frontend({ protocol: "SCTP" }),
  frontend({ kind: "external IP" }),
  frontend({ kind: "node port" }),
  frontend({}, { internal: "drop" }),
  frontend({}, { internalPolicyLocal: true }),
  frontend({}, { affinitySeconds: 600 }),
  frontend({ kind: "load balancer" }),
  frontend({ kind: "load balancer" }, { sourceRanges: ["10.0.0.0/8"] }),
  frontend({ kind: "load balancer" }, { externalPolicyLocal: true }),
];

Deno.test("of each kind there is one, and what is left over goes to the common one", () => {
  const chosen = chooseFrontends([...many, ...rare], 100);
  assert.deepEqual(chosen.filter((each) => rare.includes(each)), rare);
  assert.equal(chosen.length, 100);
});

Deno.test("never more than the most, however many kinds there are", () => {
  assert.equal(chooseFrontends(rare, 3).length, 3);
});
