import assert from "node:assert/strict";
import { rehearse } from "../../../../lib/doctor/rehearsal/rehearse.ts";
import { FakeKernel } from "../../../../lib/kernel/fake_kernel.ts";
import type { ServicePort, Snapshot } from "../../../../lib/snapshot/snapshot.ts";
import type { ModeRuntime } from "../../../../lib/writers/writer.ts";
import { FakeClock } from "../../../fakes/fake_clock.ts";
import { endpointOf, servicePortOf } from "../../../fakes/service_ports.ts";

const { signal } = new AbortController();

/** A mode whose kernel refuses all rules, some time after it was asked. */
function refusing(clock: FakeClock): ModeRuntime {
  const createWriter = async () => {
    await clock.advance(1_250);
    throw new Error("Cannot commit: no such file");
  };
  return { createWriter } as unknown as ModeRuntime;
}

function snapshotOf(family: "IPv4" | "IPv6", services: readonly ServicePort[]): Snapshot {
  return {
    family,
    settings: {
      masqueradeAll: false,
      localTraffic: { kind: "source", cidr: "10.128.0.0/14" },
      nodePortAddresses: { kind: "all" },
      serviceCIDRs: [],
      leftovers: false,
    },
    services: new Map(services.map((each) => [each.key, each])),
  };
}

Deno.test("rehearse() tells what it was to load, and why the kernel refused it", async () => {
  const clock = new FakeClock();
  await clock.advance(5_000);
  const plain = servicePortOf({ clusterEndpoints: [endpointOf("10.128.0.2:8080")] });
  const whole = servicePortOf({
    name: "whole",
    externalIPs: ["198.51.100.7"],
    loadBalancerVIPs: ["203.0.113.8", "203.0.113.9"],
    nodePort: 30_080,
    clusterEndpoints: [endpointOf("10.128.0.2:8080"), endpointOf("10.128.0.3:8080")],
  });
  const headless = servicePortOf({ name: "headless", clusterIP: "" });
  const loaded: string[] = [];
  const report = await rehearse([
    snapshotOf("IPv4", [plain, whole, headless]),
    snapshotOf("IPv6", []),
  ], {
    clock,
    kernel: new FakeKernel(),
    mostFrontends: 10,
    runtime: refusing(clock),
    signal,
    onLoaded: () => void loaded.push("loaded"),
  });
  const refused = { messages: 0, milliseconds: 1_250, error: "Cannot commit: no such file" };
  assert.deepEqual(report.families, [
    { family: "IPv4", servicePorts: 3, frontends: 6, endpoints: 3, ...refused },
    { family: "IPv6", servicePorts: 0, frontends: 0, endpoints: 0, ...refused },
  ]);
  assert.deepEqual(report.notices, []);
  assert.equal(report.kernelBytes, 0);
  assert.deepEqual(report.packets, { kind: "none", because: "no family's rules were loaded" });
  assert.deepEqual(loaded, ["loaded"]);
});
