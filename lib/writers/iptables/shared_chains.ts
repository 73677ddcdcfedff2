/**
 * Chains that are not one service port's alone: which rules of them are wrong. The order of service
 * ports in a shared chain is free, and the rules that belong to none stand last.
 */
import type { IpFamily } from "../../base/ip_family.ts";
import type { XtRule, XtTable } from "../../kernel/xtables/rules.ts";
import { ruleText } from "../../kernel/xtables/text.ts";
import type { XtListedRule, XtRules } from "../../kernel/xtables/xtables.ts";
import { FilterChain, NatChain } from "../kube_chains/names.ts";
import type { Jump } from "../kube_chains/rules.ts";
import type { ChainPlace, OwnedRule } from "./draft.ts";
import type { RuleContext } from "./rules/context.ts";
import { comingIn, jumps, nodePortDispatch } from "./rules/static_chains.ts";

/** What makes the chain right. */
export type SharedDifference =
  | { readonly kind: "equal" }
  | {
    readonly kind: "edit";
    readonly missing: readonly OwnedRule[];
    readonly extra: readonly XtRule[];
  }
  /** Something in it that we cannot delete by what it says, its end is wrong, or nearly all of it is. */
  | { readonly kind: "rewrite"; readonly isEmpty: boolean };

/** More wrong rules than this, and more than are right, are written anew. */
const EDITS = 64;

/** How a chain is named here, together with its table. */
export function nameOf(table: string, chain: string): string {
  return `${table} ${chain}`;
}

/** What was named so. */
export function placeOf(name: string): ChainPlace {
  const space = name.indexOf(" ");
  return { table: name.slice(0, space) as XtTable, chain: name.slice(space + 1) };
}

/** The rules of a shared chain that stand behind those of all service ports. */
export function lastRulesOf({ chain, table }: ChainPlace, context: RuleContext): readonly XtRule[] {
  if (table === "nat" && chain === NatChain.services) return nodePortDispatch(context);
  return table === "filter" && chain === FilterChain.externalServices ? comingIn(context) : [];
}

/** What makes a shared chain right. */
export async function sharedDifference(
  reading: XtRules,
  place: ChainPlace,
  { context, wanted }: { readonly context: RuleContext; readonly wanted: readonly OwnedRule[] },
): Promise<SharedDifference> {
  const last = lastRulesOf(place, context);
  const inOrder = reading.holds && [...wanted.map(({ rule }) => rule), ...last];
  if (inOrder && reading.holds?.(place.table, place.chain, inOrder)) return { kind: "equal" };
  const there = (await reading.rules(place.table, [place.chain])).get(place.chain) ?? [];
  return compareShared(there, { family: context.family, wanted, last });
}

/** The jumps that are missing from their chains, of these chains alone where they are given. */
export async function missingJumps(
  reading: XtRules,
  { context: { family }, only }: {
    readonly context: RuleContext;
    readonly only?: ReadonlySet<string>;
  },
): Promise<readonly Jump[]> {
  const found = new Map<string, ReadonlySet<string>>();
  const missing: Jump[] = [];
  for (const jump of jumps) {
    const name = nameOf(jump.table, jump.chain);
    if (only && !only.has(name)) continue;
    let keys = found.get(name);
    if (!keys) {
      const rules = (await reading.rules(jump.table, [jump.chain])).get(jump.chain) ?? [];
      found.set(name, keys = new Set(rules.map(({ key }) => key)));
    }
    if (!keys.has(ruleText(jump.rule, family))) missing.push(jump);
  }
  return missing;
}

/** Compares what is there with what shall be there, `last` in its order behind everything else. */
function compareShared(
  there: readonly XtListedRule[],
  { family, last, wanted }: {
    readonly family: IpFamily;
    readonly wanted: readonly OwnedRule[];
    readonly last: readonly XtRule[];
  },
): SharedDifference {
  const end = there.length - last.length;
  const isEndRight = end >= 0 &&
    last.every((rule, index) => there[end + index].key === ruleText(rule, family));
  const rewrite = { kind: "rewrite", isEmpty: there.length === 0 } as const;
  if (!isEndRight || (there.length === 0 && wanted.length > 0)) return rewrite;
  const counts = new Map<string, number>();
  const extra: XtRule[] = [];
  for (const { key } of there.slice(0, end)) counts.set(key, (counts.get(key) ?? 0) + 1);
  const missing = wanted.filter(({ rule }) => {
    const key = ruleText(rule, family);
    const count = counts.get(key) ?? 0;
    if (count > 0) counts.set(key, count - 1);
    return count === 0;
  });
  for (const { key, rule } of there.slice(0, end)) {
    const count = counts.get(key) ?? 0;
    if (count === 0) continue;
    if (!rule) return rewrite;
    counts.set(key, count - 1);
    extra.push(rule);
  }
  const edits = missing.length + extra.length;
  if (edits === 0) return { kind: "equal" };
  const isMostlyWrong = edits > EDITS && edits > wanted.length;
  return isMostlyWrong ? rewrite : { kind: "edit", missing, extra };
}
