import assert from "node:assert/strict";
import { servedNowReader } from "../../../../lib/doctor/facts/served_now.ts";
import { FakeKernel } from "../../../../lib/kernel/fake_kernel.ts";
import type { ServicePort, Snapshot } from "../../../../lib/snapshot/snapshot.ts";
import type { ModeLeftovers, ServedFrontend } from "../../../../lib/writers/leftovers.ts";
import { servicePortOf } from "../../../fakes/service_ports.ts";
import { FactsInMemory, known } from "../facts_in_memory.ts";

const { signal } = new AbortController();
const unasked = () => Promise.reject(new Error("nobody should ask"));

function snapshotOf(...services: readonly ServicePort[]): Snapshot {
  return {
    family: "IPv4",
    settings: {
      masqueradeAll: false,
      localTraffic: { kind: "unknown" },
      nodePortAddresses: { kind: "all" },
      serviceCIDRs: [],
      leftovers: false,
    },
    services: new Map(services.map((each) => [each.key, each])),
  };
}

/** A mode that serves these, or that left nothing. */
function door(served: readonly ServedFrontend[] | undefined): ModeLeftovers {
  const found = served && [{ mode: "x", backend: "x", family: "IPv4", objects: [] } as const];
  return {
    find: () => Promise.resolve(found ?? []),
    removal: { plan: unasked, apply: unasked },
    served: served ? () => Promise.resolve(served) : unasked,
  };
}

async function compare(snapshot: Snapshot, ...doors: readonly ModeLeftovers[]) {
  const reader = servedNowReader({
    leftovers: new Map(doors.map((each, i) => [`${i}`, () => Promise.resolve(each)])),
    kernel: new FakeKernel(),
    snapshots: () => Promise.resolve(known([snapshot])),
  });
  return await reader.read({ signal, facts: new FactsInMemory() });
}

const at = (ip: string, port = 80): ServedFrontend => ({ ip, port, protocol: "TCP" });
const forward = { internal: "forward", external: "forward", hasEndpoints: true } as const;

Deno.test("what is served on both sides is not told, the rest is, sorted", async () => {
  const snapshot = snapshotOf(
    servicePortOf({ ...forward, externalIPs: ["198.51.100.1"], loadBalancerVIPs: ["203.0.113.1"] }),
    servicePortOf({ ...forward, name: "new", clusterIP: "172.30.1.9", protocol: "UDP" }),
  );
  const first = door([at("172.30.1.1"), at("172.30.1.7"), at("198.51.100.1")]);
  const second = door([at("172.30.1.1"), at("172.30.1.5", 443)]);
  assert.deepEqual(await compare(snapshot, first, second, door(undefined)), {
    kind: "value",
    value: {
      onlyNow: ["172.30.1.5:443/TCP", "172.30.1.7:80/TCP"],
      onlyThen: ["172.30.1.9:80/UDP", "203.0.113.1:80/TCP"],
    },
  });
});

Deno.test("what nobody serves is on no side", async () => {
  const snapshot = snapshotOf(
    servicePortOf({ externalIPs: ["198.51.100.1"] }),
    servicePortOf({ ...forward, name: "outside", internal: "drop", externalIPs: ["198.51.100.2"] }),
    servicePortOf({ ...forward, name: "nameless", clusterIP: "" }),
  );
  const found = await compare(snapshot, door([at("198.51.100.2")]));
  assert.deepEqual(found, { kind: "value", value: { onlyNow: [], onlyThen: [] } });
});

Deno.test("on a node that serves nothing there is nothing to compare", async () => {
  const absent = { kind: "absent", because: "no rules of a proxy are here" };
  assert.deepEqual(await compare(snapshotOf(), door(undefined)), absent);
});

Deno.test("without the cluster's wishes there is nothing to compare with", async () => {
  const lacking = { kind: "lacking", because: "no apiserver" } as const;
  const reader = servedNowReader({
    leftovers: new Map([["x", unasked]]),
    kernel: new FakeKernel(),
    snapshots: () => Promise.resolve(lacking),
  });
  assert.deepEqual(await reader.read({ signal, facts: new FactsInMemory() }), lacking);
});
