/** Whether the table has the chains, rules and sets that were applied, whatever its elements say. */
import { type Applied, asWritten } from "./applied.ts";
import { contributionOf } from "./contribution.ts";
import { baseChains } from "./rules/base_chains.ts";
import { pickRules } from "./rules/picks.ts";
import type { ChainWithRules } from "./rules/statements.ts";
import { regularChains } from "./rules/static_chains.ts";
import { setNames } from "./sets.ts";
import { TableIndex } from "./table_index.ts";
import type { TableLedger } from "./table_ledger.ts";
import { comparableSets, type TableStructure } from "./table_reading.ts";

/**
 * Whether chains with their rules, hooks and sets are those that were applied, and have an effect. Whoever has
 * the chains that have to be there hands them over.
 */
export function isStructureRight(
  structure: TableStructure,
  applied: Applied,
  neededChains = chainsOf(applied),
): boolean {
  const { ledger } = applied;
  const retired = new Set(ledger.retired());
  const index = new TableIndex({ ...structure, differences: new Map() });
  return !structure.isDormant && structure.ownerPort === undefined && !index.isForeign &&
    [...setNames, ...ledger.setsInUse()].every((name) => index.hasSet(name)) &&
    neededChains.every((chain) => index.chainWithHook(chain) === "same") &&
    [...index.unknownChains(), ...index.unknownSets()].every((name) => retired.has(name));
}

/** Whether each set has as many elements as were applied, where the kernel counts them. */
export function areCountsRight(structure: TableStructure, ledger: TableLedger): boolean {
  const retired = new Set(ledger.retired());
  return comparableSets(structure).every((name) => {
    const count = structure.counts.get(name);
    return count === undefined || retired.has(name) || count === ledger.elementsOf(name);
  });
}

/** The names of all chains that are there where nobody else changed something: also those that are to go. */
export function namesOfChains(
  { ledger }: Applied,
  neededChains: readonly ChainWithRules[],
): readonly string[] {
  return [...neededChains.map(({ chain }) => chain.name), ...ledger.retiredChains()];
}

/** All chains that have to be there. */
export function chainsOf(applied: Applied): readonly ChainWithRules[] {
  const { context, ledger } = applied;
  const own = [...ledger.census.withChains].flatMap((key) => {
    const servicePort = asWritten(applied, key);
    if (!servicePort) return [];
    const { chains } = contributionOf(servicePort, context.settings.leftovers);
    return [...chains].map(([name, rules]) => ({ chain: { name }, rules }));
  });
  return [
    ...regularChains(context),
    ...baseChains(),
    ...ledger.picksInUse().map(pickRules),
    ...own,
  ];
}
