/** What is wrong with a chain that many service ports share: their rules in any order, and its end as it is. */
import assert from "node:assert/strict";
import { differing } from "../../../../lib/kernel/xtables/differing.ts";
import { listedRule } from "../../../../lib/kernel/xtables/parse.ts";
import type { XtRule } from "../../../../lib/kernel/xtables/rules.ts";
import { ruleText } from "../../../../lib/kernel/xtables/text.ts";
import type { XtListedRule, XtRules } from "../../../../lib/kernel/xtables/xtables.ts";
import { sharedChains } from "../../../../lib/writers/iptables/rules/static_chains.ts";
import {
  lastRulesOf,
  type SharedDifference,
  sharedDifference,
} from "../../../../lib/writers/iptables/shared_chains.ts";
import { contextOf } from "./samples.ts";

const place = { table: "filter", chain: "KUBE-EXTERNAL-SERVICES" } as const;
const context = contextOf("IPv4", { addressesAreHere: true });
const end = lastRulesOf(place, context);
const foreign: XtListedRule = { key: "-m helper --helper ftp -j ACCEPT" };

function drop(number: number): XtRule {
  return {
    destination: { cidr: `198.51.100.${number}/32` },
    matches: [],
    target: { kind: "drop" },
  };
}

function drops(count: number): readonly XtRule[] {
  return Array.from({ length: count }, (_, index) => drop(index));
}

function listing(there: readonly (XtRule | XtListedRule)[]): XtRules {
  const listed = there.map((each) => "key" in each ? each : listedRule(each, "IPv4"));
  const rules: XtRules["rules"] = (table, chains) =>
    Promise.resolve(
      new Map(table === place.table && chains.includes(place.chain) ? [[place.chain, listed]] : []),
    );
  return {
    rules,
    differing: async (table, wanted) =>
      differing(wanted, await rules(table, [...wanted.keys()]), "IPv4"),
  };
}

function numbered(count: number, sign: string): readonly string[] {
  return drops(count).map((_, index) => `${sign}${index}`);
}

/** `+` what is missing, `-` what is too much; `rewrite`, or `fill` where the chain is empty. */
function told(difference: SharedDifference): readonly string[] {
  const text = (rule: XtRule) => /100\.(\d+)/.exec(ruleText(rule, "IPv4"))?.[1] ?? "end";
  switch (difference.kind) {
    case "equal":
      return [];
    case "rewrite":
      return [difference.isEmpty ? "fill" : "rewrite"];
    case "edit":
      return [
        ...difference.missing.map(({ rule }) => `+${text(rule)}`),
        ...difference.extra.map((rule) => `-${text(rule)}`),
      ];
  }
}

const cases: readonly (readonly [
  name: string,
  there: readonly (XtRule | XtListedRule)[],
  wanted: readonly XtRule[],
  found: readonly string[],
])[] = [
  ["as it should be", [...drops(3), ...end], drops(3), []],
  ["the order of service ports is free", [drop(2), drop(0), drop(1), ...end], drops(3), []],
  ["one is missing", [drop(0), drop(2), ...end], drops(3), ["+1"]],
  ["one is too much", [...drops(3), ...end], [drop(0), drop(2)], ["-1"]],
  ["one is there twice", [drop(0), drop(1), drop(0), ...end], drops(2), ["-0"]],
  ["one is there three times", [drop(0), drop(0), drop(0), ...end], [drop(0)], ["-0", "-0"]],
  ["two say the same, one is there", [drop(0), ...end], [drop(0), drop(0)], ["+0"]],
  ["one for another", [drop(0), drop(5), ...end], drops(2), ["+1", "-5"]],
  ["somebody else's, in words we lack", [drop(0), foreign, ...end], [drop(0)], ["rewrite"]],
  ["the end is missing", [...drops(2)], drops(2), ["rewrite"]],
  ["a rule stands behind the end", [drop(0), ...end, drop(1)], drops(2), ["rewrite"]],
  ["the end is there twice", [drop(0), ...end, ...end], [drop(0)], ["-end"]],
  ["nothing but the end, and nothing wanted", [...end], [], []],
  ["empty, and nothing wanted but the end", [], [], ["fill"]],
  ["empty", [], drops(2), ["fill"]],
  ["64 wrong ones are edited", [...drops(64), ...end], [], numbered(64, "-")],
  ["65 wrong ones are written anew", [...drops(65), ...end], [], ["rewrite"]],
  ["65 to be added to none are edited", [...end], drops(65), numbered(65, "+")],
  [
    "65 wrong ones of both kinds are written anew",
    [...drops(32), ...end],
    drops(65).slice(32),
    ["rewrite"],
  ],
];

for (const [name, there, wanted, found] of cases) {
  Deno.test(`sharedDifference(): ${name}`, async () => {
    const owned = wanted.map((rule) => ({ rule }));
    const difference = await sharedDifference(listing(there), place, { context, wanted: owned });
    assert.deepEqual(told(difference), found);
  });
}

Deno.test("sharedDifference() asks first whether the chain surely holds its rules, and takes a yes", async () => {
  const asked: unknown[] = [];
  const reading: XtRules = {
    ...listing([]),
    holds: (table, chain, rules) => {
      asked.push([table, chain, rules]);
      return true;
    },
  };
  const wanted = drops(2).map((rule) => ({ rule }));
  assert.deepEqual(await sharedDifference(reading, place, { context, wanted }), { kind: "equal" });
  assert.deepEqual(asked, [[place.table, place.chain, [...drops(2), ...end]]]);
});

Deno.test("lastRulesOf(): what comes in meets the chain of cluster IPs at the end of one chain, beside ipvs mode's link", () => {
  const endsOf = (addressesAreHere: boolean) =>
    sharedChains.flatMap((each) =>
      lastRulesOf(each, contextOf("IPv4", { addressesAreHere })).map((rule) =>
        `${each.table} ${each.chain} ${ruleText(rule, "IPv4")}`
      )
    );
  const nodePorts = "nat KUBE-SERVICES -d 192.168.0.1/32 -m comment --comment " +
    '"kubernetes service nodeports; NOTE: this must be the last rule in this chain" -j KUBE-NODEPORTS';
  assert.deepEqual(endsOf(false), [nodePorts]);
  assert.deepEqual(endsOf(true), [
    nodePorts,
    "filter KUBE-EXTERNAL-SERVICES -m comment --comment " +
    '"cluster IPs on kube-ipvs0; NOTE: this must be the last rule in this chain" -j KUBE-SERVICES',
  ]);
});
