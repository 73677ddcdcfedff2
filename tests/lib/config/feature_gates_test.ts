import assert from "node:assert/strict";
import { knownGates, resolveGates } from "../../../lib/config/feature_gates.ts";
import { gateDependencies } from "../../../lib/config/feature_gates_data.ts";

const resolutions: readonly {
  name: string;
  requested: Record<string, boolean>;
  refused?: readonly string[];
  enabled?: Record<string, boolean>;
  warnings?: readonly string[];
}[] = [
  {
    name: "nothing asked for gives the defaults",
    requested: {},
    enabled: { NFTablesNetlink: true, KubeProxyNFTablesLocalhostNodePorts: false, WinDSR: true },
  },
  {
    name: "an alpha gate can be set",
    requested: { KubeProxyNFTablesLocalhostNodePorts: true },
    enabled: { KubeProxyNFTablesLocalhostNodePorts: true, LoggingAlphaOptions: false },
  },
  {
    name: "AllBeta=false turns beta gates off",
    requested: { AllBeta: false },
    enabled: { NFTablesNetlink: false, ComponentFlagz: false, AllBeta: false, KubeProxyIPVS: true },
  },
  {
    name: "a gate's own name beats its group",
    requested: { AllBeta: false, NFTablesNetlink: true },
    enabled: { NFTablesNetlink: true, NativeHistograms: false },
  },
  {
    name: "AllAlpha with AllBeta meets every dependency",
    requested: { AllAlpha: true, AllBeta: true },
    enabled: { KubeProxyNFTablesLocalhostNodePorts: true, WorkloadWithJob: true },
  },
  {
    name: "AllAlpha alone leaves dependencies unmet",
    requested: { AllAlpha: true },
    refused: [
      "CompositePodGroup",
      "PodGroupPreemptionPolicy",
      "TopologyAwareWorkloadScheduling",
      "WorkloadWithJob",
    ].map((gate) =>
      `${gate} is enabled, but depends on features that are disabled: [GenericWorkload]`
    ),
  },
  {
    name: "an unknown gate is refused",
    requested: { Nope: true },
    refused: ["unrecognized feature gate: Nope"],
  },
  {
    name: "a gate removed upstream is refused",
    requested: { SidecarContainers: true },
    refused: ["unrecognized feature gate: SidecarContainers"],
  },
  {
    name: "the name of a property of every object is no gate",
    requested: { constructor: true },
    refused: ["unrecognized feature gate: constructor"],
  },
  {
    name: "a locked gate cannot change",
    requested: { NFTablesProxyMode: false },
    refused: ["cannot set feature gate NFTablesProxyMode to false, feature is locked to true"],
  },
  {
    name: "a locked gate may be set to what it is",
    requested: { NFTablesProxyMode: true },
    warnings: [
      "NFTablesProxyMode=true: GA",
    ],
  },
  {
    name: "a deprecated gate is set with a warning",
    requested: { KubeProxyIPVS: false },
    enabled: { KubeProxyIPVS: false },
    warnings: [
      "KubeProxyIPVS=false: deprecated",
    ],
  },
  {
    name: "every problem is told at once",
    requested: { NFTablesProxyMode: false, Nope: true },
    refused: [
      "cannot set feature gate NFTablesProxyMode to false, feature is locked to true",
      "unrecognized feature gate: Nope",
    ],
  },
];

Deno.test("resolveGates() sets gates as Kubernetes 1.37 does", async (t) => {
  for (const { name, requested, refused, enabled = {}, warnings = [] } of resolutions) {
    await t.step(name, () => {
      const resolution = resolveGates(requested);
      if (resolution.kind === "refused") {
        assert.deepEqual(resolution.problems.map(({ message }) => message), refused);
        return;
      }
      assert.equal(refused, undefined);
      for (const [gate, state] of Object.entries(enabled)) {
        assert.equal(resolution.gates.enabled(gate), state, gate);
      }
      const said = resolution.warnings.map((w) => `${w.gate}=${w.value}: ${w.stage}`);
      assert.deepEqual(said, warnings);
    });
  }
});

Deno.test("knownGates holds the 254 gates of the release", async (t) => {
  const names = knownGates.names();
  await t.step("each once, sorted", () => {
    assert.equal(names.length, 254);
    assert.deepEqual(names, [...new Set(names)].sort());
  });
  await t.step("so many of each stage", () => {
    const stages = Map.groupBy(names, (name) => knownGates.lookup(name)?.stage);
    const counts = Object.fromEntries([...stages].map(([stage, all]) => [stage, all.length]));
    assert.deepEqual(counts, { ALPHA: 57, BETA: 109, GA: 71, DEPRECATED: 17 });
  });
  await t.step("dependencies name known gates", () => {
    for (const name of gateDependencies.split(/[\s:]+/).filter((word) => word !== "")) {
      assert.ok(knownGates.lookup(name), name);
    }
  });
});

Deno.test("FeatureGates.enabled() refuses a name no gate has", () => {
  const resolution = resolveGates({});
  assert.ok(resolution.kind === "resolved");
  assert.throws(() => resolution.gates.enabled("NFTablesNetlnk"), /Unknown feature gate/);
});
