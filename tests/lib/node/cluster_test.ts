import assert from "node:assert/strict";
import { resolveGates } from "../../../lib/config/feature_gates.ts";
import {
  type DetectLocal,
  type DetectLocalMode,
  internalDefaults,
} from "../../../lib/config/internal.ts";
import { clusterStateOf } from "../../../lib/node/cluster.ts";
import type { LocalTraffic } from "../../../lib/snapshot/snapshot.ts";
import { service } from "../trackers/objects.ts";

interface Changes {
  readonly detectLocalMode?: DetectLocalMode;
  readonly detectLocal?: Partial<DetectLocal>;
  readonly nodeIPOverride?: readonly string[];
  readonly nodePortAddresses?: readonly string[];
  readonly masqueradeAll?: boolean;
  readonly gates?: Readonly<Record<string, boolean>>;
  readonly listsAllAddresses?: boolean;
}

function stateOf(changes: Changes) {
  const { masqueradeAll = false, detectLocal, gates = {}, listsAllAddresses = false, ...fields } =
    changes;
  const defaults = internalDefaults();
  const resolution = resolveGates(gates);
  assert.equal(resolution.kind, "resolved");
  if (resolution.kind !== "resolved") throw new Error("unreachable");
  return clusterStateOf({
    configuration: {
      ...defaults,
      ...fields,
      detectLocal: { ...defaults.detectLocal, ...detectLocal },
      linux: { ...defaults.linux, masqueradeAll },
    },
    gates: resolution.gates,
    nodeName: "node-a",
    startMs: 0,
    listsAllAddresses,
  });
}

const rows: readonly {
  readonly mode: DetectLocalMode;
  readonly detectLocal?: Partial<DetectLocal>;
  readonly local: LocalTraffic;
}[] = [
  {
    mode: "ClusterCIDR",
    detectLocal: { clusterCIDRs: ["10.128.0.0/14"] },
    local: { kind: "source", cidr: "10.128.0.0/14" },
  },
  { mode: "NodeCIDR", local: { kind: "source", cidr: "10.128.7.0/24" } },
  {
    mode: "BridgeInterface",
    detectLocal: { bridgeInterface: "cbr0" },
    local: { kind: "interface", name: "cbr0" },
  },
  {
    mode: "InterfaceNamePrefix",
    detectLocal: { interfaceNamePrefix: "veth" },
    local: { kind: "interface-prefix", prefix: "veth" },
  },
  { mode: "", local: { kind: "unknown" } },
];

const ownNode = {
  namespace: "",
  name: "node-a",
  resourceVersion: "1",
  addresses: [{ type: "InternalIP", address: "192.168.0.2" }],
  podCIDRs: ["10.128.7.0/24"],
  zone: "",
  taintKeys: [],
  deleting: false,
};

for (const { mode, detectLocal, local } of rows) {
  Deno.test(`clusterStateOf() tells local traffic as detectLocalMode "${mode}" has it`, () => {
    const state = stateOf({ detectLocalMode: mode, detectLocal });
    state.applyNodes({ kind: "replace", objects: [ownNode] });
    assert.deepEqual(state.families.get("IPv4")?.settings.localTraffic, local);
  });
}

Deno.test("clusterStateOf() takes the node's addresses, node ports and masquerading from the configuration", () => {
  const state = stateOf({
    nodeIPOverride: ["192.168.9.9"],
    nodePortAddresses: ["192.168.0.0/16"],
    masqueradeAll: true,
  });
  state.setInterfaceAddresses(["192.168.0.2", "10.0.0.1"]);
  assert.equal(state.nodeIPs.addresses.IPv4, "192.168.9.9");
  const settings = state.families.get("IPv4")?.settings;
  assert.equal(settings?.masqueradeAll, true);
  assert.deepEqual(settings?.nodePortAddresses, { kind: "listed", addresses: ["192.168.0.2"] });
});

Deno.test("clusterStateOf() lists all addresses for a mode that names them", () => {
  const state = stateOf({ nodePortAddresses: ["all"], listsAllAddresses: true });
  state.setInterfaceAddresses(["192.168.0.2"]);
  assert.deepEqual(state.families.get("IPv4")?.settings.nodePortAddresses, {
    kind: "all",
    addresses: [{ ip: "192.168.0.2", isLoopback: false }],
  });
});

Deno.test("clusterStateOf() serves external IPs as the gate says", () => {
  for (const allowed of [true, false]) {
    const state = stateOf({ gates: { AllowServiceExternalIPs: allowed } });
    const object = service({ externalIPs: ["198.51.100.7"] });
    state.applyServices({ kind: "replace", objects: [object] });
    const ports = [...state.families.get("IPv4")?.take().snapshot.services.values() ?? []];
    assert.deepEqual(ports.map(({ externalIPs }) => externalIPs), [
      allowed ? ["198.51.100.7"] : [],
    ]);
  }
});
