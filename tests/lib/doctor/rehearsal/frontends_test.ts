import assert from "node:assert/strict";
import {
  describeFrontend,
  expectFromNode,
  expectFromOutside,
  type Frontend,
  type FrontendKind,
  frontendsOf,
} from "../../../../lib/doctor/rehearsal/frontends.ts";
import type { FamilySettings, ServicePort } from "../../../../lib/snapshot/snapshot.ts";
import { endpointOf, servicePortOf } from "../../../fakes/service_ports.ts";

const settings: FamilySettings = {
  masqueradeAll: false,
  localTraffic: { kind: "source", cidr: "10.128.0.0/14" },
  nodePortAddresses: { kind: "all" },
  serviceCIDRs: [],
  leftovers: false,
};
const client = "192.0.2.201";
const [near, far] = [endpointOf("10.128.0.2:8080"), endpointOf("10.129.0.2:8080", false)];
const [nearText, farText] = ["10.128.0.2:8080", "10.129.0.2:8080"];

const served = {
  internal: "forward",
  external: "forward",
  hasEndpoints: true,
  clusterEndpoints: [near, far],
  localEndpoints: [near],
} as const;

function frontend(kind: FrontendKind, rest: Partial<ServicePort> = {}): Frontend {
  const service = servicePortOf({ ...served, ...rest });
  return { kind, ip: "172.30.1.1", port: 80, protocol: "TCP", service };
}

Deno.test("frontendsOf() lists every address of every service port", () => {
  const services = [
    servicePortOf({
      externalIPs: ["198.51.100.1"],
      loadBalancerVIPs: ["203.0.113.1"],
      nodePort: 30_001,
    }),
    servicePortOf({ name: "only-outside", clusterIP: "", nodePort: 30_002, protocol: "UDP" }),
  ];
  const snapshot = {
    family: "IPv4",
    settings,
    services: new Map(services.map((each) => [each.key, each])),
  } as const;
  const all = frontendsOf(snapshot, ["192.168.1.1", "192.168.1.2"]);
  assert.deepEqual(all.map((each) => `${each.kind} ${describeFrontend(each)}`), [
    "cluster IP 172.30.1.1:80/TCP",
    "external IP 198.51.100.1:80/TCP",
    "load balancer 203.0.113.1:80/TCP",
    "node port 192.168.1.1:30001/TCP",
    "node port 192.168.1.2:30001/TCP",
    "node port 192.168.1.1:30002/UDP",
    "node port 192.168.1.2:30002/UDP",
  ]);
});

/** `endpoints kept`, `endpoints masqueraded`, `endpoints either`, or the kind alone. */
function outside(each: Frontend, rest: Partial<FamilySettings> = {}): string {
  const expected = expectFromOutside(each, { client, settings: { ...settings, ...rest } });
  if (expected.kind !== "endpoint") return expected.kind;
  const { masqueraded } = expected;
  const source = masqueraded === undefined ? "either" : masqueraded ? "masqueraded" : "kept";
  return `${[...expected.endpoints].join(",")} ${source}`;
}

const both = `${nearText},${farText}`;
const fromOutside: readonly (readonly [string, Frontend, string, Partial<FamilySettings>?])[] = [
  ["a cluster IP", frontend("cluster IP"), `${both} masqueraded`],
  ["where local traffic is not known", frontend("cluster IP"), `${both} kept`, {
    localTraffic: { kind: "unknown" },
  }],
  ["where everything is masqueraded", frontend("cluster IP"), `${both} masqueraded`, {
    localTraffic: { kind: "unknown" },
    masqueradeAll: true,
  }],
  [
    "a cluster IP with policy Local",
    frontend("cluster IP", { internalPolicyLocal: true }),
    `${nearText} masqueraded`,
  ],
  ["one without endpoints", frontend("cluster IP", { internal: "reject" }), "refused"],
  ["one without endpoints here", frontend("cluster IP", { internal: "drop" }), "nothing"],
  ["an external IP", frontend("external IP"), `${both} masqueraded`],
  ["a node port", frontend("node port"), `${both} masqueraded`],
  ["a node port nobody serves", frontend("node port", { external: "reject" }), "refused"],
  [
    "an external address with policy Local",
    frontend("load balancer", { externalPolicyLocal: true }),
    `${nearText} kept`,
  ],
  [
    "the same where everything is masqueraded",
    frontend("load balancer", { externalPolicyLocal: true }),
    `${nearText} either`,
    { masqueradeAll: true },
  ],
  [
    "the same without endpoints here",
    frontend("load balancer", { externalPolicyLocal: true, external: "drop" }),
    "nothing",
  ],
  [
    "a load balancer for others",
    frontend("load balancer", { sourceRanges: ["198.51.100.0/24"] }),
    "nothing",
  ],
  [
    "a load balancer for us too",
    frontend("load balancer", { sourceRanges: ["198.51.100.0/24", "192.0.2.0/24"] }),
    `${both} masqueraded`,
  ],
  [
    "source ranges are of load balancers alone",
    frontend("external IP", { sourceRanges: ["198.51.100.0/24"] }),
    `${both} masqueraded`,
  ],
];

for (const [name, each, expected, rest] of fromOutside) {
  Deno.test(`from outside: ${name}: ${expected}`, () => {
    assert.equal(outside(each, rest), expected);
  });
}

const fromNode: readonly (readonly [string, Frontend, readonly string[] | undefined])[] = [
  ["a cluster IP", frontend("cluster IP"), [nearText, farText]],
  ["policy Local inside", frontend("cluster IP", { internalPolicyLocal: true }), [nearText]],
  ["policy Local outside", frontend("external IP", { externalPolicyLocal: true }), [
    nearText,
    farText,
  ]],
  ["no endpoints", frontend("cluster IP", { clusterEndpoints: [], internal: "reject" }), undefined],
  ["none that may be used", frontend("node port", { external: "drop" }), undefined],
  ["source ranges", frontend("load balancer", { sourceRanges: ["0.0.0.0/0"] }), undefined],
];

for (const [name, each, expected] of fromNode) {
  Deno.test(`from the node: ${name}`, () => {
    const found = expectFromNode(each);
    const endpoints = found?.kind === "endpoint" ? [...found.endpoints] : undefined;
    assert.deepEqual(endpoints, expected);
    if (found?.kind === "endpoint") assert.equal(found.masqueraded, undefined);
  });
}
