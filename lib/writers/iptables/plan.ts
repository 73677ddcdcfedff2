/** From a few service ports as they were to the same as they shall be: the everyday change. Pure. */
import type { XtRule } from "../../kernel/xtables/rules.ts";
import { ruleText } from "../../kernel/xtables/text.ts";
import type { ServicePort, ServicePortKey } from "../../snapshot/snapshot.ts";
import { type Contribution, contributionOf, emptyContribution } from "./contribution.ts";
import type { Draft } from "./draft.ts";
import type { RuleContext } from "./rules/context.ts";
import type { SharedRule } from "./rules/frontends.ts";

/** One service port's way; undefined: it is not there. */
export interface ServiceChange {
  readonly key: ServicePortKey;
  readonly before: ServicePort | undefined;
  readonly after: ServicePort | undefined;
}

/** What a service port had, and what it has. */
export interface ContributionChange {
  readonly key: ServicePortKey;
  readonly before: Contribution;
  readonly after: Contribution;
}

/** Writes the change into the draft, and gives both contributions. */
export function planChange(
  { after, before, key }: ServiceChange,
  into: { readonly context: RuleContext; readonly draft: Draft },
): ContributionChange {
  const { context } = into;
  const change = {
    key,
    before: before ? contributionOf(before, context) : emptyContribution,
    after: after ? contributionOf(after, context) : emptyContribution,
  };
  changeOwnChains(change, into);
  changeSharedRules(change, into);
  return change;
}

function changeOwnChains(
  { after, before, key }: ContributionChange,
  { context: { family }, draft }: { readonly context: RuleContext; readonly draft: Draft },
): void {
  const sameRules = (a: readonly XtRule[], b: readonly XtRule[]) =>
    a.length === b.length &&
    a.every((rule, index) => ruleText(rule, family) === ruleText(b[index], family));
  for (const [chain, rules] of after.own) {
    const old = before.own.get(chain);
    const place = { table: "nat", chain } as const;
    if (!old) draft.addChain(place, rules, key);
    else if (!sameRules(old, rules)) draft.rewriteChain(place, rules, key);
  }
  for (const chain of before.own.keys()) {
    if (!after.own.has(chain)) draft.removeChain({ table: "nat", chain }, key);
  }
}

function changeSharedRules(
  { after, before, key }: ContributionChange,
  { context: { family }, draft }: { readonly context: RuleContext; readonly draft: Draft },
): void {
  const textOf = ({ chain, rule, table }: SharedRule) =>
    `${table} ${chain} ${ruleText(rule, family)}`;
  const old = new Set(before.shared.map(textOf));
  const kept = new Set(after.shared.map(textOf));
  for (const { chain, rule, table } of before.shared.filter((each) => !kept.has(textOf(each)))) {
    draft.removeRule({ table, chain }, rule, key);
  }
  // From the last one on, since each goes to the head.
  for (const { chain, rule, table } of after.shared.toReversed()) {
    if (old.has(textOf({ chain, rule, table }))) continue;
    draft.insert({ table, chain }, [{ rule, owner: key }]);
  }
}
