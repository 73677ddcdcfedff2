/** From a few service ports as they were to the same as they shall be: the everyday change. Pure. */
import { deepEqual } from "../../base/deep_equal.ts";
import type { ServicePort, ServicePortKey } from "../../snapshot/snapshot.ts";
import type { Batch } from "./batch.ts";
import { contributionOf, contributionOfSettings, emptyContribution } from "./contribution.ts";
import { Draft } from "./draft.ts";
import type { TableLedger } from "./table_ledger.ts";
import type { RuleContext } from "./rules/statements.ts";
import { staticChains } from "./rules/static_chains.ts";
import { allowSets } from "./sets.ts";
import { allowElements } from "./source_ranges.ts";

/** One service port's way; undefined: it is not there. */
export interface ServiceChange {
  readonly key: ServicePortKey;
  readonly before: ServicePort | undefined;
  readonly after: ServicePort | undefined;
}

/** What a plan starts from. */
export interface PlanOptions {
  /** Changed to what holds after the batches. */
  readonly ledger: TableLedger;
  readonly before: RuleContext;
  /** May differ from `before` in everything but the presence of leftovers, which concerns all service ports. */
  readonly after: RuleContext;
  /** Every service port as it shall be; asked only after mass changes of source ranges. */
  readonly servicesAfter: () => Iterable<ServicePort>;
}

/**
 * The batches, to be committed in this order. What one service port gives up another may take in the
 * same plan: all removals come first.
 */
export function planChanges(
  changes: readonly ServiceChange[],
  { after, before, ledger, servicesAfter }: PlanOptions,
): readonly Batch[] {
  const draft = new Draft({
    ledger,
    view: ledger,
    leaving: ledger.retiredElements(),
    wholeSet: (set) =>
      [...servicesAfter()]
        .filter(({ protocol }) => allowSets[protocol] === set)
        .flatMap(allowElements),
  });
  if (!deepEqual(before.settings, after.settings)) {
    changeSettings(draft, before, after);
    const [old, wanted] = [before, after].map(({ settings }) => contributionOfSettings(settings));
    ledger.census.replace(old, wanted, undefined);
  }
  const { leftovers } = after.settings;
  for (const change of changes) {
    const old = change.before ? contributionOf(change.before, leftovers) : emptyContribution;
    const wanted = change.after ? contributionOf(change.after, leftovers) : emptyContribution;
    draft.change(old, wanted, change.key);
    ledger.census.replace(old, wanted, change.key);
  }
  const { main, prepare } = draft.finish();
  return [prepare, main];
}

function changeSettings(draft: Draft, before: RuleContext, after: RuleContext): void {
  const old = new Map(staticChains(before).map(({ chain, rules }) => [chain.name, rules]));
  for (const wanted of staticChains(after)) {
    if (!deepEqual(old.get(wanted.chain.name), wanted.rules)) draft.rewrite(wanted);
  }
  draft.change(
    contributionOfSettings(before.settings),
    contributionOfSettings(after.settings),
    undefined,
  );
}
