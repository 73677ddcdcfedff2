import assert from "node:assert/strict";
import { describedPort, type EndpointWords, idsOf } from "./service_port.ts";

/** Who can be reached how. A list that is absent is empty. */
interface Row {
  readonly name: string;
  readonly policies?: "internal Local" | "external Local" | "both Local";
  /** Has a node port. */
  readonly exposed?: true;
  readonly node?: { readonly name?: string; readonly zone?: string };
  readonly endpoints: EndpointWords;
  readonly cluster?: readonly number[];
  readonly local?: readonly number[];
  readonly reachable?: readonly number[];
  /** Endpoints exist although none is reachable from here. */
  readonly elsewhere?: true;
}

const zoned: EndpointWords = {
  1: "ready zone=a",
  2: "ready zone=b",
  3: "ready zone=c",
  4: "ready zone=a",
};
const zonedWithLocal: EndpointWords = {
  1: "ready here zone=a",
  2: "ready here zone=b",
  3: "ready zone=c",
  4: "ready zone=a",
};
const hintedForNodes: EndpointWords = {
  1: "ready zone=a node=n1",
  2: "ready zone=b node=n2",
  3: "ready zone=c node=n3",
  4: "ready zone=a node=n4",
};
const oneHere: EndpointWords = { 1: "ready here", 2: "ready" };
const allRemote: EndpointWords = { 1: "ready", 2: "ready" };

const topology: readonly Row[] = [
  { name: "every endpoint is hinted and some for this zone", endpoints: zoned, cluster: [1, 4] },
  {
    name: "topology does not narrow external Local",
    policies: "external Local",
    exposed: true,
    endpoints: zonedWithLocal,
    cluster: [1, 4],
    local: [1, 2],
    reachable: [1, 2, 4],
  },
  {
    name: "topology does not narrow internal Local",
    policies: "internal Local",
    exposed: true,
    endpoints: zonedWithLocal,
    cluster: [1, 4],
    local: [1, 2],
    reachable: [1, 2, 4],
  },
  {
    name: "a node without a zone uses all",
    node: { zone: "" },
    endpoints: { 1: "ready zone=a" },
    cluster: [1],
  },
  {
    name: "nothing is hinted for the zone of this node",
    node: { zone: "b" },
    endpoints: { 1: "ready zone=a" },
    cluster: [1],
  },
  {
    name: "an endpoint that is not ready is left out",
    endpoints: { ...zoned, 4: "unready zone=a" },
    cluster: [1],
  },
  {
    name: "all endpoints of the zone are not ready",
    endpoints: { 1: "unready zone=a", 2: "ready zone=b", 3: "ready zone=c", 4: "unready zone=a" },
    cluster: [2, 3],
  },
  {
    name: "one endpoint without a hint turns zones off",
    endpoints: { ...zoned, 3: "ready" },
    cluster: [1, 2, 3, 4],
  },
  {
    name: "an unready endpoint without a hint turns nothing off",
    endpoints: { ...zoned, 3: "unready" },
    cluster: [1, 4],
  },
  {
    name: "several hints on an endpoint",
    node: { zone: "c" },
    endpoints: {
      1: "ready zone=a,b,c",
      2: "ready zone=b,c",
      3: "ready zone=b,d",
      4: "ready zone=c",
    },
    cluster: [1, 2, 4],
  },
  { name: "a hint for this node goes before its zone", endpoints: hintedForNodes, cluster: [1] },
  {
    name: "one endpoint without any hint turns both levels off",
    endpoints: { ...hintedForNodes, 2: "ready" },
    cluster: [1, 2, 3, 4],
  },
  {
    name: "one endpoint without a node hint leaves the zone in force",
    endpoints: { ...hintedForNodes, 2: "ready zone=b" },
    cluster: [1, 4],
  },
  {
    name: "no hint for this node falls back to its zone",
    node: { name: "n0" },
    endpoints: hintedForNodes,
    cluster: [1, 4],
  },
  {
    name: "no hint for this node nor its zone uses all",
    node: { name: "n0", zone: "z" },
    endpoints: hintedForNodes,
    cluster: [1, 2, 3, 4],
  },
  {
    name: "topology and locality differ, so both are reachable",
    policies: "external Local",
    exposed: true,
    endpoints: {
      1: "ready here zone=a",
      2: "ready here zone=b",
      3: "ready zone=a",
      4: "ready zone=b",
    },
    cluster: [1, 3],
    local: [1, 2],
    reachable: [1, 2, 3],
  },
];

const policies: readonly Row[] = [
  { name: "internal Local without endpoints", policies: "internal Local", endpoints: {} },
  {
    name: "internal Local, all remote",
    policies: "internal Local",
    endpoints: allRemote,
    elsewhere: true,
  },
  {
    name: "internal Local, all here",
    policies: "internal Local",
    endpoints: { 1: "ready here", 2: "ready here" },
    local: [1, 2],
    reachable: [1, 2],
  },
  {
    name: "internal Local, some here",
    policies: "internal Local",
    endpoints: oneHere,
    local: [1],
    reachable: [1],
  },
  { name: "Cluster, none ready", endpoints: { 1: "unready", 2: "unready" } },
  { name: "Cluster, some ready", endpoints: { 1: "unready", 2: "ready" }, cluster: [2] },
  {
    name: "Cluster, all terminating",
    endpoints: { 1: "fading here", 2: "fading" },
    cluster: [1, 2],
  },
  {
    name: "Cluster, the terminating fallback ignores hints",
    endpoints: { 1: "fading zone=b", 2: "fading zone=a", 3: "unready zone=a" },
    cluster: [1, 2],
  },
  {
    name: "internal Local, external Cluster, some here",
    policies: "internal Local",
    exposed: true,
    endpoints: oneHere,
    cluster: [1, 2],
    local: [1],
  },
  {
    name: "internal Cluster, external Local, some here",
    policies: "external Local",
    exposed: true,
    endpoints: oneHere,
    cluster: [1, 2],
    local: [1],
  },
  {
    name: "both Local, some here",
    policies: "both Local",
    exposed: true,
    endpoints: oneHere,
    cluster: [1, 2],
    local: [1],
  },
  {
    name: "both Local, all remote",
    policies: "both Local",
    exposed: true,
    endpoints: allRemote,
    cluster: [1, 2],
  },
  {
    name: "both Local, all remote and terminating",
    policies: "both Local",
    exposed: true,
    endpoints: { 1: "fading", 2: "fading" },
    cluster: [1, 2],
  },
  {
    name: "external Local, the fallback is decided apart for each policy",
    policies: "external Local",
    exposed: true,
    endpoints: { 1: "ready", 2: "unready here", 3: "fading here", 4: "fading" },
    cluster: [1],
    local: [3],
    reachable: [1, 3],
  },
  {
    name: "external Local means nothing without external frontends",
    policies: "external Local",
    endpoints: { 1: "ready", 2: "ready here" },
    cluster: [1, 2],
  },
  {
    name: "internal Local without external frontends has no cluster endpoints",
    policies: "internal Local",
    endpoints: { 1: "ready", 2: "ready here" },
    local: [2],
    reachable: [2],
  },
  { name: "no endpoints", endpoints: {} },
  { name: "one that is neither ready nor serving nor terminating", endpoints: { 1: "unready" } },
  {
    name: "one that serves but is neither ready nor terminating",
    endpoints: { 1: "serving here" },
  },
  {
    name: "external Local, none here serves",
    policies: "external Local",
    exposed: true,
    endpoints: { 1: "unready here", 2: "ready" },
    cluster: [2],
  },
];

for (const row of [...topology, ...policies]) {
  Deno.test(`categorizeEndpoints(): ${row.name}`, () => {
    const port = describedPort({
      service: {
        internalPolicyLocal: row.policies === "internal Local" || row.policies === "both Local",
        externalPolicyLocal: row.policies === "external Local" || row.policies === "both Local",
      },
      port: { nodePort: row.exposed ? 30080 : 0 },
      node: row.node ?? {},
      endpoints: row.endpoints,
    });
    const reachable = row.reachable ?? row.cluster ?? [];
    assert.deepEqual(idsOf(port.clusterEndpoints), row.cluster ?? [], "cluster");
    assert.deepEqual(idsOf(port.localEndpoints), row.local ?? [], "local");
    assert.deepEqual(idsOf(port.reachableEndpoints), reachable, "reachable");
    assert.equal(port.hasEndpoints, reachable.length > 0 || row.elsewhere === true);
  });
}

Deno.test("categorizeEndpoints() gives one array where lists are equal", () => {
  const port = describedPort({
    service: { externalPolicyLocal: true },
    port: { nodePort: 30080, protocol: "UDP" },
    endpoints: { 1: "ready here", 2: "ready here" },
  });
  assert.equal(port.reachableEndpoints, port.clusterEndpoints);
  assert.equal(port.servingEndpoints, port.clusterEndpoints);
  assert.equal(port.nodeEndpoints, port.localEndpoints);
});
