/** One table that uses every word of the operations' language, in either family. */
import type {
  NftElement,
  NftFamily,
  NftOperation,
  NftRule,
  NftSet,
  NftStatement,
  NftTable,
} from "../../../../lib/kernel/nftables/operations.ts";

/** A row: one rule's statements. */
export interface StatementCase {
  readonly name: string;
  readonly statements: readonly NftStatement[];
  readonly comment?: string;
}

/** Addresses of the sample in a family. */
interface SampleAddresses {
  readonly pod: string;
  readonly otherPod: string;
  readonly pods: string;
  readonly wideRange: string;
  readonly everything: string;
  readonly service: string;
  readonly otherService: string;
  readonly node: string;
  readonly adjacent: readonly [string, string];
  readonly thirdAdjacent: string;
  readonly highest: string;
}

function sampleAddresses(family: NftFamily): SampleAddresses {
  return family === "ip"
    ? {
      pod: "10.128.0.5",
      otherPod: "10.128.3.200",
      pods: "10.128.0.0/14",
      wideRange: "172.0.0.0/8",
      everything: "0.0.0.0/0",
      service: "172.30.0.1",
      otherService: "172.30.255.254",
      node: "192.168.0.1",
      adjacent: ["172.30.0.0/17", "172.30.128.0/17"],
      thirdAdjacent: "172.31.0.0/17",
      highest: "255.255.255.0/24",
    }
    : {
      pod: "fd00:10:128::5",
      otherPod: "fd00:10:128:0:1:2:3:4",
      pods: "fd00:10:128::/48",
      wideRange: "fd00:172:20::/44",
      everything: "::/0",
      service: "fd00:172:30::1",
      otherService: "fd00:172:30::ffff",
      node: "fd00:192:168::1",
      adjacent: ["fd00:172:30::/49", "fd00:172:30:8000::/49"],
      thirdAdjacent: "fd00:172:31::/49",
      highest: "ffff:ffff::/32",
    };
}

export const table = (family: NftFamily): NftTable => ({ family, name: "kube-proxy" });

const serviceKey = ["addr", "inet_proto", "inet_service"] as const;

/** One set of each shape. */
export const sets: readonly NftSet[] = [
  { name: "cluster-ips", key: ["addr"], comment: "Active ClusterIPs" },
  { name: "ranges", key: ["addr"], interval: true },
  { name: "firewall-allow-tcp", key: ["addr", "inet_service", "addr"], interval: true },
  { name: "hairpin-connections", key: ["addr", "addr", "inet_proto", "inet_service"] },
  { name: "affinity-1", key: ["addr"], dynamicTimeoutSeconds: 10800 },
  { name: "affinity-2", key: ["addr", "index"], dynamicTimeoutSeconds: 10800 },
  { name: "service-ips", key: serviceKey, value: "verdict" },
  { name: "service-nodeports", key: ["inet_proto", "inet_service"], value: "verdict" },
  { name: "ranges-map", key: ["addr"], value: "verdict", interval: true },
  {
    name: "endpoints",
    key: [...serviceKey, "index"],
    value: ["addr", "inet_service"],
    comment: "Endpoints by index",
  },
  {
    name: "nodeport-endpoints",
    key: ["inet_proto", "inet_service", "index"],
    value: ["addr", "inet_service"],
  },
  { name: "plain-map", key: ["addr"], value: ["addr", "inet_service"] },
];

/** Elements for those sets. */
export function elements(family: NftFamily): Readonly<Record<string, readonly NftElement[]>> {
  const at = sampleAddresses(family);
  return {
    "cluster-ips": [{ key: [at.service] }, { key: [at.otherService], comment: "ns/b" }],
    "ranges": [
      { key: [at.pods] },
      { key: [at.service], comment: "one" },
      { key: [at.highest] },
    ],
    "firewall-allow-tcp": [
      { key: [at.service, 80, at.pods] },
      { key: [at.service, 80, at.node] },
      { key: [at.service, 443, at.everything], comment: "all" },
    ],
    "hairpin-connections": [{ key: [at.pod, at.pod, "sctp", 8080] }],
    "service-ips": [
      { key: [at.service, "tcp", 80], value: { kind: "goto", chain: "target" } },
      { key: [at.service, "udp", 53], value: { kind: "jump", chain: "other-target" } },
      { key: [at.otherService, "sctp", 65535], value: { kind: "drop" } },
      { key: [at.otherService, "tcp", 1], value: { kind: "accept" }, comment: "ns/a:p" },
    ],
    "service-nodeports": [{ key: ["tcp", 30080], value: { kind: "return" } }],
    "ranges-map": [
      { key: [at.pods], value: { kind: "drop" } },
      { key: [at.service], value: { kind: "goto", chain: "target" } },
    ],
    "endpoints": [
      { key: [at.service, "tcp", 80, 0], value: [at.pod, 8080] },
      { key: [at.service, "tcp", 80, 70000], value: [at.otherPod, 8081] },
    ],
    "nodeport-endpoints": [{ key: ["udp", 30053, 1], value: [at.pod, 53] }],
    "plain-map": [{ key: [at.service], value: [at.pod, 8080] }],
  };
}

const frontend = ["daddr", "l4proto", "dport"] as const;
const verdict = (chain: string) => ({ kind: "verdict", verdict: { kind: "goto", chain } }) as const;
const match = (select: "saddr" | "daddr" | "l4proto" | "dport", ...values: (string | number)[]) =>
  ({ kind: "match", select: [select], in: { values } }) as const;
const protocols = match("l4proto", "tcp", "udp", "sctp");

/** Every statement, and every form that is encoded in its own way. */
export function statementCases(family: NftFamily): readonly StatementCase[] {
  const at = sampleAddresses(family);
  const numgen = (numgenModulus: number) => ({ numgenModulus });
  return [
    { name: "match one address", statements: [match("saddr", at.pod)] },
    { name: "match not one address", statements: [{ ...match("saddr", at.pod), not: true }] },
    { name: "match a range", statements: [match("saddr", at.pods)] },
    { name: "match not a range", statements: [{ ...match("saddr", at.pods), not: true }] },
    { name: "match a range of whole bytes", statements: [match("daddr", at.wideRange)] },
    { name: "match every address", statements: [match("daddr", at.everything)] },
    { name: "match several addresses", statements: [match("daddr", at.pod, at.node)] },
    {
      name: "match not several addresses",
      statements: [{ ...match("daddr", at.pod, at.node), not: true }],
    },
    { name: "match several ranges", statements: [match("daddr", at.service, at.pods, at.node)] },
    { name: "match a range up to the end", statements: [match("daddr", at.highest, at.pods)] },
    { name: "match adjacent ranges", statements: [match("daddr", ...at.adjacent)] },
    {
      name: "match adjacent ranges that are no CIDR",
      statements: [match("daddr", at.adjacent[1], at.thirdAdjacent)],
    },
    {
      name: "match not adjacent ranges that are no CIDR",
      statements: [{ ...match("daddr", at.adjacent[1], at.thirdAdjacent), not: true }],
    },
    { name: "match nested ranges", statements: [match("daddr", at.pods, at.pod, at.node)] },
    { name: "match one protocol", statements: [match("l4proto", "udp")] },
    {
      name: "match not one protocol",
      statements: [{ ...match("l4proto", "tcp"), not: true }],
    },
    { name: "match several protocols", statements: [protocols] },
    { name: "match one port", statements: [match("dport", 80)] },
    { name: "match several ports", statements: [match("dport", 443, 80, 443)] },
    { name: "match protocol and port", statements: [match("l4proto", "tcp"), match("dport", 80)] },
    {
      name: "match a named set",
      statements: [{ kind: "match", select: ["daddr"], in: { set: "cluster-ips" } }],
    },
    {
      name: "match not a named set",
      statements: [{ kind: "match", select: ["daddr"], not: true, in: { set: "cluster-ips" } }],
    },
    {
      name: "match a set of ranges",
      statements: [{ kind: "match", select: ["saddr"], in: { set: "ranges" } }],
    },
    {
      name: "match not a concatenation with ranges",
      statements: [{
        kind: "match",
        select: ["daddr", "dport", "saddr"],
        not: true,
        in: { set: "firewall-allow-tcp" },
      }, { kind: "verdict", verdict: { kind: "drop" } }],
    },
    {
      name: "match a concatenation",
      statements: [{ kind: "match-ct-dnat" }, {
        kind: "match",
        select: ["saddr", "daddr", "l4proto", "dport"],
        in: { set: "hairpin-connections" },
      }],
    },
    { name: "match an interface", statements: [{ kind: "match-interface", name: "eth0" }] },
    {
      name: "match not an interface",
      statements: [{ kind: "match-interface", not: true, name: "cni-podman0-long".slice(0, 15) }],
    },
    {
      name: "match interfaces by prefix",
      statements: [{ kind: "match-interface", name: "veth", prefix: true }],
    },
    {
      name: "match not interfaces by prefix",
      statements: [{ kind: "match-interface", not: true, name: "cali", prefix: true }],
    },
    {
      name: "match an interface named with a star",
      statements: [{ kind: "match-interface", name: "eth*" }],
    },
    { name: "match a local source", statements: [{ kind: "match-local", select: "saddr" }] },
    { name: "match a local destination", statements: [{ kind: "match-local", select: "daddr" }] },
    { name: "match new connections", statements: [{ kind: "match-ct-new" }] },
    { name: "match translated connections", statements: [{ kind: "match-ct-dnat" }] },
    { name: "match a mark", statements: [{ kind: "match-mark", mask: 0x4000 }] },
    { name: "match the highest mark", statements: [{ kind: "match-mark", mask: 0x80000000 }] },
    { name: "set a mark", statements: [{ kind: "set-mark-or", mask: 0x4000 }] },
    { name: "set the highest mark", statements: [{ kind: "set-mark-or", mask: 0x80000000 }] },
    { name: "toggle a mark", statements: [{ kind: "set-mark-xor", mask: 0x4000 }] },
    { name: "accept", statements: [{ kind: "verdict", verdict: { kind: "accept" } }] },
    { name: "drop", statements: [{ kind: "verdict", verdict: { kind: "drop" } }] },
    { name: "return", statements: [{ kind: "verdict", verdict: { kind: "return" } }] },
    {
      name: "jump, with a comment",
      statements: [{ kind: "verdict", verdict: { kind: "jump", chain: "target" } }],
      comment: "masquerade hairpin traffic",
    },
    { name: "goto", statements: [verdict("target")] },
    {
      name: "verdict map",
      statements: [{ kind: "vmap", select: frontend, map: "service-ips" }],
    },
    {
      name: "verdict map by node port",
      statements: [
        { kind: "match-local", select: "daddr" },
        { kind: "vmap", select: ["l4proto", "dport"], map: "service-nodeports" },
      ],
    },
    {
      name: "verdict map of ranges",
      statements: [{ kind: "vmap", select: ["saddr"], map: "ranges-map" }],
    },
    {
      name: "random verdict of three",
      statements: [{
        kind: "random-verdict",
        verdicts: [
          { kind: "goto", chain: "target" },
          { kind: "jump", chain: "other-target" },
          { kind: "drop" },
        ],
      }],
    },
    {
      name: "random verdict of one",
      statements: [{ kind: "random-verdict", verdicts: [{ kind: "goto", chain: "target" }] }],
    },
    {
      name: "update a dynamic set",
      statements: [
        { kind: "update-set", set: "affinity-1", select: ["saddr"], timeoutSeconds: 90 },
      ],
    },
    {
      name: "update a dynamic set by packet and constant",
      statements: [{
        kind: "update-set",
        set: "affinity-2",
        select: ["saddr", { constant: 4_294_967_295 }],
        timeoutSeconds: 90,
      }],
    },
    {
      name: "match a dynamic set by packet and constant",
      statements: [
        { kind: "match", select: ["saddr", { constant: 1 }], in: { set: "affinity-2" } },
        verdict("target"),
      ],
    },
    {
      name: "match a dynamic set",
      statements: [
        { kind: "match", select: ["saddr"], in: { set: "affinity-1" } },
        verdict("target"),
      ],
    },
    {
      name: "dnat",
      statements: [match("l4proto", "tcp"), { kind: "dnat", address: at.pod, port: 8080 }],
    },
    {
      name: "dnat of several protocols",
      statements: [protocols, { kind: "dnat", address: at.pod, port: 8080 }],
    },
    {
      name: "dnat by map and random index",
      statements: [protocols, {
        kind: "dnat-map",
        select: [...frontend, numgen(3)],
        map: "endpoints",
      }],
    },
    {
      name: "dnat by node port and random index",
      statements: [protocols, {
        kind: "dnat-map",
        select: ["l4proto", "dport", numgen(1)],
        map: "nodeport-endpoints",
      }],
    },
    {
      name: "dnat by address",
      statements: [protocols, { kind: "dnat-map", select: ["daddr"], map: "plain-map" }],
    },
    { name: "dnat to the same address", statements: [{ kind: "dnat-same" }] },
    { name: "masquerade", statements: [{ kind: "masquerade", fullyRandom: false }] },
    { name: "masquerade fully random", statements: [{ kind: "masquerade", fullyRandom: true }] },
    { name: "reject", statements: [{ kind: "reject" }] },
    { name: "reject with a reset", statements: [{ kind: "reject", tcpReset: true }] },
    {
      name: "reject TCP with a reset",
      statements: [match("l4proto", "tcp"), { kind: "reject", tcpReset: true }],
    },
  ];
}

export const baseChains: readonly NftOperation[] = [
  {
    kind: "add-chain",
    chain: { name: "filter-input", base: { type: "filter", hook: "input", priority: 0 } },
  },
  {
    kind: "add-chain",
    chain: {
      name: "filter-prerouting-pre-dnat",
      base: { type: "filter", hook: "prerouting", priority: -110 },
    },
  },
  {
    kind: "add-chain",
    chain: {
      name: "nat-prerouting",
      base: { type: "nat", hook: "prerouting", priority: -101 },
      comment: "before the others",
    },
  },
  {
    kind: "add-chain",
    chain: { name: "nat-output", base: { type: "nat", hook: "output", priority: -101 } },
  },
  {
    kind: "add-chain",
    chain: { name: "nat-postrouting", base: { type: "nat", hook: "postrouting", priority: 99 } },
  },
];

/** The chain of a row. */
export function caseChain(index: number): string {
  return `case-${index}`;
}

/** The rule of a row. */
export function caseRule(each: StatementCase, index: number): NftRule {
  return {
    chain: caseChain(index),
    statements: each.statements,
    ...(each.comment !== undefined && { comment: each.comment }),
  };
}

/** Everything above in one batch, leaves first. */
export function sampleOperations(family: NftFamily): readonly NftOperation[] {
  const cases = statementCases(family);
  return [
    { kind: "add-table" },
    { kind: "add-chain", chain: { name: "target", comment: "the end of it" } },
    { kind: "add-chain", chain: { name: "other-target" } },
    ...cases.map((_, i) => ({ kind: "add-chain", chain: { name: caseChain(i) } }) as const),
    ...baseChains,
    ...sets.map((set) => ({ kind: "add-set", set }) as const),
    ...Object.entries(elements(family)).map(([set, list]) =>
      ({ kind: "add-elements", set, elements: list }) as const
    ),
    ...cases.map((each, i) => ({ kind: "add-rule", rule: caseRule(each, i) }) as const),
  ];
}
