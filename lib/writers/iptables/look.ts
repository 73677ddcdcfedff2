/**
 * Whether somebody else changed what is ours, without comparing all of it: which chains there are, and the
 * rules of those that are suspected.
 */
import type { XtRule, XtTable } from "../../kernel/xtables/rules.ts";
import type { XtReading, XtRules } from "../../kernel/xtables/xtables.ts";
import type { ServicePortKey } from "../../snapshot/snapshot.ts";
import type { Applied } from "./applied.ts";
import { contributionOf } from "./contribution.ts";
import type { OwnedRule } from "./draft.ts";
import { groupsOf } from "./full_plan.ts";
import { isOwnChain } from "./names.ts";
import { frontendRules } from "./rules/frontends.ts";
import { bareChains, jumps, ownTables, sharedChains, staticChains } from "./rules/static_chains.ts";
import { missingJumps, nameOf, placeOf, sharedDifference } from "./shared_chains.ts";

/** Chains that are read in one go. */
const servicesPerGroup = 200;

/** What is there, and what was written. */
export interface Compared<Reading extends XtRules = XtReading> {
  readonly reading: Reading;
  readonly applied: Applied;
}

/** Compares which chains there are, and the rules of these, by their names with their tables. */
export async function isDifferentIn(
  suspects: ReadonlySet<string>,
  compared: Compared,
): Promise<boolean> {
  return !hasOurChains(compared, ownTables) || await areRulesDifferentIn(suspects, compared);
}

/** Compares the rules of these chains alone, by their names with their tables. */
export async function areRulesDifferentIn(
  suspects: ReadonlySet<string>,
  compared: Compared<XtRules>,
): Promise<boolean> {
  const { applied: { context }, reading } = compared;
  // Few first: where a shared chain was flushed, all that it led to look changed.
  return await isSomeStaticChainWrong(suspects, compared) ||
    (await missingJumps(reading, { context, only: suspects })).length > 0 ||
    await isSomeSharedChainWrong(suspects, compared) ||
    await isSomeKeptChainWrong(suspects, compared) ||
    await isSomeOwnChainWrong(suspects, compared);
}

/** Whether these tables have exactly ours of the chains that only we have, and all of the others. */
export function hasOurChains(
  { applied: { context, kept, owners }, reading: { chains } }: Compared,
  tables: readonly XtTable[],
): boolean {
  const there = new Set<string>();
  let own = 0;
  for (const { name, table } of chains) {
    if (table !== "nat" || !isOwnChain(name)) there.add(nameOf(table, name));
    else if (owners.has(name)) own++;
    else if (!kept.has(name)) return false;
  }
  const others = [...sharedChains, ...bareChains, ...staticChains(context), ...jumps];
  return (own === owners.size || !tables.includes("nat")) &&
    others.every(({ chain, table }) => !tables.includes(table) || there.has(nameOf(table, chain)));
}

async function isSomeStaticChainWrong(
  suspects: ReadonlySet<string>,
  { applied: { context }, reading }: Compared<XtRules>,
): Promise<boolean> {
  for (const { chain, rules, table } of staticChains(context)) {
    if (!suspects.has(nameOf(table, chain))) continue;
    if ((await reading.differing(table, new Map([[chain, rules]]))).length > 0) return true;
  }
  return false;
}

/** Stale chains stay empty. */
async function isSomeKeptChainWrong(
  suspects: ReadonlySet<string>,
  { applied: { kept }, reading }: Compared<XtRules>,
): Promise<boolean> {
  const empty = [...kept].filter((chain) => suspects.has(nameOf("nat", chain)));
  const wanted = new Map(empty.map((chain): [string, readonly XtRule[]] => [chain, []]));
  return wanted.size > 0 && (await reading.differing("nat", wanted)).length > 0;
}

async function isSomeOwnChainWrong(
  suspects: ReadonlySet<string>,
  { applied: { context, owners, services }, reading }: Compared<XtRules>,
): Promise<boolean> {
  const keys = new Set<ServicePortKey>();
  for (const suspect of suspects) {
    const { chain, table } = placeOf(suspect);
    const key = table === "nat" ? owners.get(chain) : undefined;
    if (key !== undefined) keys.add(key);
  }
  for (const group of groupsOf(keys, servicesPerGroup)) {
    const wanted = new Map<string, readonly XtRule[]>();
    for (const key of group) {
      const servicePort = services.get(key);
      if (!servicePort) continue;
      for (const [chain, rules] of contributionOf(servicePort, context).own) {
        if (suspects.has(nameOf("nat", chain))) wanted.set(chain, rules);
      }
    }
    if ((await reading.differing("nat", wanted)).length > 0) return true;
  }
  return false;
}

async function isSomeSharedChainWrong(
  suspects: ReadonlySet<string>,
  { applied: { context, services }, reading }: Compared<XtRules>,
): Promise<boolean> {
  const places = sharedChains.filter(({ chain, table }) => suspects.has(nameOf(table, chain)));
  if (places.length === 0) return false;
  const wanted = new Map<string, OwnedRule[]>(
    places.map(({ chain, table }) => [nameOf(table, chain), []]),
  );
  for (const servicePort of services.values()) {
    for (const { chain, rule, table } of frontendRules(servicePort, context)) {
      wanted.get(nameOf(table, chain))?.push({ rule });
    }
  }
  for (const place of places) {
    const rules = wanted.get(nameOf(place.table, place.chain)) ?? [];
    const { kind } = await sharedDifference(reading, place, { context, wanted: rules });
    if (kind !== "equal") return true;
  }
  return false;
}
