import assert from "node:assert/strict";
import type { IpFamily } from "../../../lib/base/ip_family.ts";
import type { Node, ServiceCIDR } from "../../../lib/kube/objects.ts";
import type { FamilySettings } from "../../../lib/snapshot/snapshot.ts";
import { ClusterState, type ClusterStateOptions } from "../../../lib/trackers/cluster_state.ts";
import { endpoint, service, slice } from "./objects.ts";

function cluster(changes: Partial<ClusterStateOptions> = {}): ClusterState {
  return new ClusterState({
    families: ["IPv4", "IPv6"],
    nodeName: "node-a",
    nodeIPOverride: [],
    masqueradeAll: false,
    localTraffic: { kind: "none" },
    nodePortAddresses: [],
    startedMs: 0,
    ...changes,
  });
}

function settingsOf(state: ClusterState, family: IpFamily = "IPv4"): FamilySettings {
  const taken = state.families.get(family)?.take();
  assert.ok(taken);
  return taken.snapshot.settings;
}

function settle(state: ClusterState): boolean {
  const changed = [...state.families.values()].map((family) => {
    const { changes } = family.take();
    family.commit();
    return changes.settings;
  });
  return changed.includes(true);
}

function node(changes: Partial<Node> = {}): Node {
  return {
    namespace: "",
    name: "node-a",
    resourceVersion: "1",
    addresses: [{ type: "InternalIP", address: "192.168.1.1" }],
    podCIDRs: ["10.128.0.0/24"],
    zone: "",
    taintKeys: [],
    deleting: false,
    ...changes,
  };
}

function serviceCIDR(name: string, ...cidrs: string[]): ServiceCIDR {
  return { namespace: "", name, resourceVersion: "1", cidrs };
}

Deno.test("ClusterState: a change of the ServiceCIDRs is a change of settings at once", () => {
  const state = cluster();
  const kubernetes = serviceCIDR("kubernetes", "172.30.0.0/16", "fd00:172:30::/108");
  assert.equal(state.applyServiceCIDRs({ kind: "replace", objects: [kubernetes] }), true);
  assert.deepEqual(settingsOf(state).serviceCIDRs, ["172.30.0.0/16"]);
  assert.deepEqual(settingsOf(state, "IPv6").serviceCIDRs, ["fd00:172:30::/108"]);
  assert.equal(settle(state), true);
  assert.equal(state.applyServiceCIDRs({ kind: "replace", objects: [kubernetes] }), false);
});

Deno.test("ClusterState: a range that two ServiceCIDRs name stays until both are gone", () => {
  const state = cluster();
  const objects = [
    serviceCIDR("a", "172.30.0.0/16"),
    serviceCIDR("b", "172.30.0.0/16", "172.29.0.0/16"),
  ];
  state.applyServiceCIDRs({ kind: "replace", objects });
  assert.deepEqual(settingsOf(state).serviceCIDRs, ["172.29.0.0/16", "172.30.0.0/16"]);
  const remove = (name: string) =>
    state.applyServiceCIDRs({
      kind: "changes",
      changes: [{ kind: "delete", namespace: "", name }],
    });
  remove("b");
  assert.deepEqual(settingsOf(state).serviceCIDRs, ["172.30.0.0/16"]);
  remove("a");
  assert.deepEqual(settingsOf(state).serviceCIDRs, []);
});

Deno.test("ClusterState: local traffic by pod CIDR follows the own Node and no other", () => {
  const state = cluster({ localTraffic: { kind: "node-cidr" } });
  assert.deepEqual(settingsOf(state).localTraffic, { kind: "unknown" });
  const other = node({ name: "node-b", podCIDRs: ["10.128.9.0/24"] });
  assert.equal(state.applyNodes({ kind: "replace", objects: [other, node()] }), true);
  assert.deepEqual(settingsOf(state).localTraffic, { kind: "source", cidr: "10.128.0.0/24" });
  assert.deepEqual(settingsOf(state, "IPv6").localTraffic, { kind: "unknown" });
});

Deno.test("ClusterState: a heartbeat of the Node changes nothing", () => {
  const state = cluster();
  state.applyNodes({ kind: "replace", objects: [node()] });
  const beat = { kind: "upsert" as const, object: node({ resourceVersion: "2" }) };
  assert.equal(state.applyNodes({ kind: "changes", changes: [beat] }), false);
});

Deno.test("ClusterState: primary node ports serve nothing until the address is known", () => {
  const state = cluster({ nodePortAddresses: ["primary"] });
  state.setInterfaceAddresses(["127.0.0.1", "192.168.1.1", "192.168.2.1"]);
  assert.deepEqual(settingsOf(state).nodePortAddresses, { kind: "listed", addresses: [] });
  state.applyNodes({ kind: "replace", objects: [node()] });
  assert.deepEqual(settingsOf(state).nodePortAddresses, {
    kind: "listed",
    addresses: ["192.168.1.1"],
  });
  assert.deepEqual(settingsOf(state, "IPv6").nodePortAddresses, { kind: "listed", addresses: [] });
});

Deno.test("ClusterState: where all addresses are listed, each that comes is a change of its family alone", () => {
  const state = cluster({ listsAllAddresses: true });
  state.setInterfaceAddresses(["127.0.0.1", "::1"]);
  settle(state);
  const told: IpFamily[] = [];
  for (const [family, each] of state.families) each.onChange(() => told.push(family));
  assert.equal(state.setInterfaceAddresses(["127.0.0.1", "::1", "fd00:192:168::1"]), true);
  assert.deepEqual(told, ["IPv6"]);
  assert.deepEqual(settingsOf(state, "IPv6").nodePortAddresses, {
    kind: "all",
    addresses: [
      { ip: "::1", isLoopback: true },
      { ip: "fd00:192:168::1", isLoopback: false },
    ],
  });
});

Deno.test("ClusterState: a slice or a Service of one family is no change of the other", () => {
  const state = cluster();
  state.applyServices({ kind: "replace", objects: [service()] });
  const told: IpFamily[] = [];
  for (const [family, each] of state.families) each.onChange(() => told.push(family));
  const object = slice({ endpoints: [endpoint("10.128.0.1")] });
  state.applyEndpointSlices({ kind: "changes", changes: [{ kind: "upsert", object }] });
  state.applyServices({
    kind: "changes",
    changes: [{ kind: "upsert", object: service({ affinitySeconds: 10 }) }],
  });
  assert.deepEqual(told, ["IPv4", "IPv4"]);
});

Deno.test("ClusterState: a new interface address is a change of settings where it counts", () => {
  const state = cluster({ nodePortAddresses: ["192.168.0.0/16"] });
  state.setInterfaceAddresses(["192.168.1.1"]);
  settle(state);
  assert.equal(state.setInterfaceAddresses(["192.168.1.1", "203.0.113.9"]), false);
  assert.equal(state.setInterfaceAddresses(["192.168.1.1", "192.168.2.1"]), true);
  assert.equal(settle(state), true);
});

Deno.test("ClusterState feeds both families from one batch", () => {
  const state = cluster();
  const clusterIPs = ["172.30.0.1", "fd00:172:30::1"];
  state.applyServices({
    kind: "replace",
    objects: [service({ clusterIPs, ipFamilies: ["IPv4", "IPv6"] })],
  });
  state.applyEndpointSlices({
    kind: "replace",
    objects: [
      slice({ endpoints: [endpoint("10.128.0.1")] }),
      slice({ name: "web-2", addressType: "IPv6", endpoints: [endpoint("fd00:10:128::1")] }),
    ],
  });
  const reached = [...state.families.values()].map((family) =>
    [...family.take().snapshot.services.values()].map((port) =>
      `${port.clusterIP} -> ${port.clusterEndpoints.map(({ ip }) => ip)}`
    )
  );
  assert.deepEqual(reached, [["172.30.0.1 -> 10.128.0.1"], ["fd00:172:30::1 -> fd00:10:128::1"]]);
});

Deno.test("ClusterState says once what holds for both families, and that FQDN slices are not proxied", () => {
  const state = cluster();
  const clusterIPs = ["172.30.0.1", "fd00:172:30::1"];
  const object = service({ clusterIPs, ipFamilies: ["IPv4", "IPv6"], externalIPs: ["nonsense"] });
  state.applyServices({ kind: "replace", objects: [object] });
  const fqdn = slice({ addressType: "FQDN" });
  for (let i = 0; i < 2; i++) state.applyEndpointSlices({ kind: "replace", objects: [fqdn] });
  assert.deepEqual(state.takeNotices().map(({ message }) => message), [
    'Service shop/web: its external IP "nonsense" is no address',
    'EndpointSlice shop/web-1: its address type "FQDN" is not proxied',
  ]);
});

Deno.test("ClusterState drops what an opted-out namespace holds", () => {
  const state = cluster();
  state.applyServices({
    kind: "replace",
    objects: [service(), service({ namespace: "cart", clusterIP: "172.30.0.2" })],
  });
  const shop = { namespace: "", name: "shop", resourceVersion: "1", optedOut: true };
  assert.equal(state.applyNamespaces({ kind: "replace", objects: [shop] }), true);
  assert.deepEqual([...state.families.get("IPv4")?.take().snapshot.services.keys() ?? []], [
    "cart/web:http/TCP",
  ]);
  const back = { kind: "upsert" as const, object: { ...shop, optedOut: false } };
  state.applyNamespaces({ kind: "changes", changes: [back] });
  state.applyServices({ kind: "replace", objects: [service()] });
  assert.deepEqual([...state.families.get("IPv4")?.take().snapshot.services.keys() ?? []], [
    "shop/web:http/TCP",
  ]);
});

Deno.test("ClusterState takes an override for the node's address", () => {
  const state = cluster({ nodeIPOverride: ["192.168.7.7"] });
  state.applyNodes({ kind: "replace", objects: [node()] });
  assert.deepEqual(state.nodeIPs.addresses, { IPv4: "192.168.7.7", IPv6: "::1" });
});

Deno.test("ClusterState tells only the family that a change concerns", () => {
  const state = cluster();
  const told: IpFamily[] = [];
  for (const family of state.families.values()) family.onChange(() => told.push(family.family));
  const since = () => told.splice(0).join(",");
  const clusterIPs = ["172.30.0.1", "fd00:172:30::1"];
  const object = service({ clusterIPs, ipFamilies: ["IPv4", "IPv6"] });
  state.applyServices({ kind: "replace", objects: [object] });
  assert.equal(since(), "IPv4,IPv6");
  state.applyEndpointSlices({ kind: "replace", objects: [slice()] });
  assert.equal(since(), "IPv4");
  state.applyEndpointSlices({ kind: "replace", objects: [slice()] });
  assert.equal(since(), "");
  state.complete();
  assert.equal(since(), "IPv4,IPv6");
});

Deno.test("ClusterState takes the host's own addresses for the node's while no Node tells any", () => {
  const state = cluster({ nodePortAddresses: ["primary"] });
  const all = ["192.168.5.5", "172.17.0.1", "fd00:192:168::5"];
  assert.equal(state.setInterfaceAddresses(all, ["192.168.5.5", "fd00:192:168::5"]), true);
  assert.deepEqual(state.nodeIPs.addresses, { IPv4: "192.168.5.5", IPv6: "fd00:192:168::5" });
  assert.deepEqual(settingsOf(state).nodePortAddresses, {
    kind: "listed",
    addresses: ["192.168.5.5"],
  });
  state.applyNodes({ kind: "replace", objects: [node({ name: "node-b" }), node()] });
  assert.deepEqual(state.nodeIPs.addresses, { IPv4: "192.168.1.1", IPv6: "::1" });
  assert.equal(state.otherNodeName, "node-b");
});
