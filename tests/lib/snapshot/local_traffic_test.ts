import assert from "node:assert/strict";
import {
  type LocalTrafficSource,
  resolveLocalTraffic,
} from "../../../lib/snapshot/local_traffic.ts";
import type { LocalTraffic } from "../../../lib/snapshot/snapshot.ts";

const v4 = "10.128.0.0/14";
const v6 = "fd00:10:128::/48";
const unknown: LocalTraffic = { kind: "unknown" };
const source = (cidr: string): LocalTraffic => ({ kind: "source", cidr });

const rows: readonly (readonly [string, LocalTrafficSource, LocalTraffic, LocalTraffic])[] = [
  ["nothing configured", { kind: "none" }, unknown, unknown],
  ["cluster CIDR, IPv4 alone", { kind: "cluster-cidr", clusterCIDRs: [v4] }, source(v4), unknown],
  ["cluster CIDR, IPv6 alone", { kind: "cluster-cidr", clusterCIDRs: [v6] }, unknown, source(v6)],
  ["cluster CIDR, both", { kind: "cluster-cidr", clusterCIDRs: [v4, v6] }, source(v4), source(v6)],
  [
    "cluster CIDR, IPv6 first",
    { kind: "cluster-cidr", clusterCIDRs: [v6, v4] },
    source(v4),
    source(v6),
  ],
  [
    "cluster CIDR, the first of a family counts",
    { kind: "cluster-cidr", clusterCIDRs: ["10.0.0.0/16", v4] },
    source("10.0.0.0/16"),
    unknown,
  ],
  ["cluster CIDR, an empty text", { kind: "cluster-cidr", clusterCIDRs: [""] }, unknown, unknown],
  ["cluster CIDR, none", { kind: "cluster-cidr", clusterCIDRs: [] }, unknown, unknown],
  [
    "cluster CIDR, host bits are masked",
    { kind: "cluster-cidr", clusterCIDRs: ["10.128.9.9/14", "FD00:10:128:1::/48"] },
    source(v4),
    source(v6),
  ],
  [
    "node CIDR, IPv4 alone",
    { kind: "node-cidr", podCIDRs: ["10.128.1.0/24"] },
    source("10.128.1.0/24"),
    unknown,
  ],
  [
    "node CIDR, IPv6 alone",
    { kind: "node-cidr", podCIDRs: ["fd00:10:128:1::/64"] },
    unknown,
    source("fd00:10:128:1::/64"),
  ],
  [
    "node CIDR, both",
    { kind: "node-cidr", podCIDRs: ["fd00:10:128:1::/64", "10.128.1.0/24"] },
    source("10.128.1.0/24"),
    source("fd00:10:128:1::/64"),
  ],
  ["node CIDR, none yet", { kind: "node-cidr", podCIDRs: [] }, unknown, unknown],
  [
    "bridge",
    { kind: "bridge-interface", name: "cni0" },
    { kind: "interface", name: "cni0" },
    { kind: "interface", name: "cni0" },
  ],
  [
    "interface prefix",
    { kind: "interface-name-prefix", prefix: "veth" },
    { kind: "interface-prefix", prefix: "veth" },
    { kind: "interface-prefix", prefix: "veth" },
  ],
];

for (const [name, config, ipv4, ipv6] of rows) {
  Deno.test(`resolveLocalTraffic(): ${name}`, () => {
    assert.deepEqual(resolveLocalTraffic("IPv4", config), ipv4);
    assert.deepEqual(resolveLocalTraffic("IPv6", config), ipv6);
  });
}
