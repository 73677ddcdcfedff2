import assert from "node:assert/strict";
import type { IpFamily } from "../../../../lib/base/ip_family.ts";
import { ruleText } from "../../../../lib/kernel/nftables/text.ts";
import type { FamilySettings } from "../../../../lib/snapshot/snapshot.ts";
import { pickChain } from "../../../../lib/writers/nftables/names.ts";
import { pickRules } from "../../../../lib/writers/nftables/rules/picks.ts";
import { staticChains } from "../../../../lib/writers/nftables/rules/static_chains.ts";
import { settings } from "./samples.ts";

const mark = 1 << 14;

/** The rules of a chain as text. */
function rulesOf(
  chain: string,
  overrides: Partial<FamilySettings> = {},
  family: IpFamily = "IPv4",
): readonly string[] {
  const context = { family, mark, settings: { ...settings[family], ...overrides } };
  const found = staticChains(context).find((each) => each.chain.name === chain);
  assert.ok(found, chain);
  return found.rules.map((rule) => ruleText(rule, family === "IPv4" ? "ip" : "ip6"));
}

interface Case {
  readonly name: string;
  readonly chain: string;
  readonly overrides: Partial<FamilySettings>;
  readonly family?: IpFamily;
  readonly rules: readonly string[];
}

const byAddress = "ip daddr . meta l4proto . th dport vmap @service-ips";
const byNodePort = "ip daddr @nodeport-ips meta l4proto . th dport vmap @service-nodeports";
const markRule = "meta mark set meta mark or 16384";

const cases: readonly Case[] = [
  {
    name: "pods by range: what comes from elsewhere is masqueraded",
    chain: "services",
    overrides: {},
    rules: [
      `ip daddr @cluster-ips ip saddr != 10.128.0.0/14 ${markRule}`,
      byAddress,
      byNodePort,
    ],
  },
  {
    name: "pods by interface",
    chain: "services",
    overrides: { localTraffic: { kind: "interface", name: "cni0" } },
    rules: [`ip daddr @cluster-ips iifname != "cni0" ${markRule}`, byAddress, byNodePort],
  },
  {
    name: "pods by the start of an interface's name",
    chain: "services",
    overrides: { localTraffic: { kind: "interface-prefix", prefix: "veth" } },
    rules: [`ip daddr @cluster-ips iifname != "veth*" ${markRule}`, byAddress, byNodePort],
  },
  {
    name: "pods unknown: nothing is masqueraded here",
    chain: "services",
    overrides: { localTraffic: { kind: "unknown" } },
    rules: [byAddress, byNodePort],
  },
  {
    name: "masqueradeAll: whoever comes",
    chain: "services",
    overrides: { masqueradeAll: true },
    rules: [`ip daddr @cluster-ips ${markRule}`, byAddress, byNodePort],
  },
  {
    name: "node ports on all addresses but loopback, IPv4",
    chain: "services",
    overrides: { localTraffic: { kind: "unknown" }, nodePortAddresses: { kind: "all" } },
    rules: [
      byAddress,
      "fib daddr type local ip daddr != 127.0.0.0/8 " +
      "meta l4proto . th dport vmap @service-nodeports",
    ],
  },
  {
    name: "node ports on all addresses but loopback, IPv6",
    chain: "services",
    family: "IPv6",
    overrides: { localTraffic: { kind: "unknown" }, nodePortAddresses: { kind: "all" } },
    rules: [
      "ip6 daddr . meta l4proto . th dport vmap @service-ips",
      "fib daddr type local ip6 daddr != ::1 meta l4proto . th dport vmap @service-nodeports",
    ],
  },
  {
    name: "leftovers: destinations are kept",
    chain: "services",
    overrides: { localTraffic: { kind: "unknown" }, leftovers: true },
    rules: [
      byAddress,
      byNodePort,
      "ip daddr @cluster-ips goto keep-destination",
      "ip daddr 172.30.0.0/16 goto keep-destination",
    ],
  },
  {
    name: "leftovers without known service ranges",
    chain: "services",
    overrides: { localTraffic: { kind: "unknown" }, leftovers: true, serviceCIDRs: [] },
    rules: [byAddress, byNodePort, "ip daddr @cluster-ips goto keep-destination"],
  },
  {
    name: "pods and the node reach every endpoint",
    chain: "external-local",
    overrides: {},
    rules: [
      "ip saddr 10.128.0.0/14 ip daddr . meta l4proto . th dport vmap @cluster-picks",
      "fib saddr type local goto external-cluster",
      "ip daddr . meta l4proto . th dport vmap @local-picks",
    ],
  },
  {
    name: "without a way to know pods there is no way around for them",
    chain: "nodeport-local",
    overrides: { localTraffic: { kind: "unknown" } },
    rules: [
      "fib saddr type local goto nodeport-cluster",
      "meta l4proto . th dport vmap @nodeport-local-picks",
    ],
  },
  {
    name: "external traffic is masqueraded",
    chain: "external-cluster",
    overrides: {},
    rules: [markRule, "ip daddr . meta l4proto . th dport vmap @cluster-picks"],
  },
  {
    name: "unused cluster IPs are dropped",
    chain: "cluster-ips-check",
    overrides: { serviceCIDRs: ["10.96.0.0/12", "172.30.0.0/16"] },
    rules: [
      "ip daddr @cluster-ips goto reject-chain",
      "ip daddr { 10.96.0.0/12, 172.30.0.0/16 } drop",
    ],
  },
  {
    name: "unused cluster IPs pass where the ranges are unknown",
    chain: "cluster-ips-check",
    overrides: { serviceCIDRs: [] },
    rules: ["ip daddr @cluster-ips goto reject-chain"],
  },
  {
    name: "TCP is refused by a reset",
    chain: "reject-chain",
    overrides: {},
    rules: ["meta l4proto tcp reject with tcp reset", "reject"],
  },
  {
    name: "the mark is cleared where it is obeyed",
    chain: "masquerading",
    overrides: {},
    rules: [
      "meta mark and 16384 != 0 meta mark set meta mark xor 16384 masquerade fully-random",
      "ct status dnat ip saddr . ip daddr . meta l4proto . th dport @hairpin-connections " +
      "masquerade fully-random",
    ],
  },
  {
    name: "connections under way are left alone",
    chain: "filter-input",
    overrides: {},
    rules: [
      "ct state new jump nodeport-endpoints-check",
      "ct state new jump service-endpoints-check",
      "ct state new jump cluster-ips-check",
    ],
  },
];

for (const { chain, family, name, overrides, rules } of cases) {
  Deno.test(`rules of ${chain}: ${name}`, () => {
    assert.deepEqual(rulesOf(chain, overrides, family), rules);
  });
}

Deno.test("base chains hook where upstream's do, the nat chains one step earlier", () => {
  const chains = staticChains({ family: "IPv4", mark, settings: settings.IPv4 });
  const hooks = chains.flatMap(({ chain: { base, name } }) =>
    base ? [[name, base.type, base.hook, base.priority]] : []
  );
  assert.deepEqual(hooks, [
    ["filter-prerouting-pre-dnat", "filter", "prerouting", -110],
    ["filter-output-pre-dnat", "filter", "output", -110],
    ["nat-prerouting", "nat", "prerouting", -101],
    ["nat-output", "nat", "output", -101],
    ["filter-input", "filter", "input", 0],
    ["filter-forward", "filter", "forward", 0],
    ["filter-output", "filter", "output", 0],
    ["nat-postrouting", "nat", "postrouting", 99],
  ]);
});

Deno.test("no rule but those beside leftovers leads to keep-destination", () => {
  const chains = staticChains({ family: "IPv4", mark, settings: settings.IPv4 });
  const targets = chains.flatMap(({ rules }) => rules.map((rule) => ruleText(rule, "ip")));
  assert.ok(targets.every((text) => !text.includes("keep-destination")));
});

Deno.test("pickRules() try index 0 for a packet that was under way while K shrank", () => {
  const { rules } = pickRules(pickChain("nodeport-local-endpoints", { count: 3, shard: 0 }));
  const start = "meta l4proto { tcp, udp, sctp } dnat ip addr . port to meta l4proto . th dport";
  assert.deepEqual(rules.map((rule) => ruleText(rule, "ip")), [
    `${start} . numgen random mod 3 map @nodeport-local-endpoints`,
    `${start} . numgen random mod 1 map @nodeport-local-endpoints`,
  ]);
});
