/**
 * Reads the table: its structure at once, and the elements set by set. Each set is small, so that
 * whoever compares a large table can do something else between two of them.
 */
import { deepEqual } from "../../base/deep_equal.ts";
import { listOf } from "../../base/list_of.ts";
import type {
  Nftables,
  NftElementDifference,
  NftListedRule,
} from "../../kernel/nftables/nftables.ts";
import type { ElementList } from "../../kernel/nftables/element_list.ts";
import type { NftChain, NftSet, NftTable } from "../../kernel/nftables/operations.ts";
import { WantedSet, type WantedTable } from "./desired.ts";
import type { SetName } from "./sets.ts";
import { definitionOf, inLookupOrder, isSetName } from "./shards.ts";
import type { TableLedger } from "./table_ledger.ts";

/** The table but for its elements. */
export interface TableStructure {
  /** Nothing of it has an effect. */
  readonly isDormant: boolean;
  /** The netlink port of another program's socket, which alone may change it. */
  readonly ownerPort: number | undefined;
  readonly chains: ReadonlyMap<string, NftChain>;
  readonly rules: ReadonlyMap<string, readonly NftListedRule[]>;
  readonly sets: ReadonlyMap<string, NftSet>;
  /** How many elements a set has, where the kernel tells. */
  readonly counts: ReadonlyMap<string, number>;
}

/** Everything the kernel told about the table. */
export interface TableContent extends TableStructure {
  /** Of our own sets that are there: what distinguishes their elements from the wanted ones. */
  readonly differences: ReadonlyMap<SetName, NftElementDifference>;
}

/** What the kernel told, and what is true of the table once it holds what it shall. */
export interface TableComparison {
  readonly content: TableContent;
  readonly wanted: TableLedger;
}

/** So many sets are read and compared at once: while the kernel lists one, another is put together. */
const comparedAtOnce = 2;

/**
 * Reads the table and compares its elements with the wanted ones, set by set, so that never all of
 * them are in memory; undefined when there is no table.
 */
export async function readTable(
  nftables: Nftables,
  table: NftTable,
  wanted: () => WantedTable,
): Promise<TableComparison | undefined> {
  const structure = await readStructure(nftables, table);
  if (!structure) return undefined;
  const found = Promise.withResolvers<WantedTable>();
  const names = comparableSets(structure).values();
  const differences = new Map<SetName, NftElementDifference>();
  // The first sets are read while it is found out what shall be in them.
  const lanes = Promise.all(Array.from({ length: comparedAtOnce }, async () => {
    for (const name of names) {
      const desired = found.promise.then(({ sets }) => takeList(sets, name, table));
      differences.set(name, await compareSet(nftables, table, { name, desired }));
    }
  }));
  try {
    found.resolve(wanted());
  } catch (error) {
    found.reject(error);
  }
  await lanes;
  const { ledger } = await found.promise;
  return { content: { ...structure, differences }, wanted: ledger };
}

function takeList(
  wanted: ReadonlyMap<SetName, WantedSet>,
  name: SetName,
  { family }: NftTable,
): ElementList {
  return (wanted.get(name) ?? new WantedSet(definitionOf(name), family)).take();
}

/** What distinguishes the elements of one of our sets from the wanted ones. */
function compareSet(
  nftables: Nftables,
  table: NftTable,
  { desired, name }: {
    readonly name: SetName;
    readonly desired: Promise<ElementList>;
  },
): Promise<NftElementDifference> {
  return nftables.compareElements(table, definitionOf(name), desired);
}

/**
 * The table but for its elements; undefined when there is none. Takes milliseconds whatever the sets hold, and,
 * where the chains are told that should be there, however many chains others have.
 */
export async function readStructure(
  nftables: Nftables,
  table: NftTable,
  expectedChains?: readonly string[],
): Promise<TableStructure | undefined> {
  const listing = await nftables.listTable(table, expectedChains);
  if (!listing) return undefined;
  const rules = new Map<string, NftListedRule[]>();
  for (const rule of listing.rules) listOf(rules, rule.chain).push(rule);
  return {
    isDormant: listing.isDormant,
    ownerPort: listing.ownerPort,
    chains: new Map(listing.chains.map((chain) => [chain.name, chain])),
    rules,
    sets: new Map(listing.sets.map((set) => [set.name, set])),
    counts: listing.counts,
  };
}

/** Our sets that are there and hold what Services put there. */
export function comparableSets({ sets }: TableStructure): readonly SetName[] {
  const ours = [...sets.values()].filter((set) => {
    const definition = definitionOf(set.name);
    return definition !== undefined && isSameKind(set, definition);
  });
  return inLookupOrder(ours.map(({ name }) => name).filter(isSetName));
}

/** Comments and default times may differ: neither changes what happens to a packet. */
export function isSameKind(a: NftSet, b: NftSet): boolean {
  return deepEqual(a.key, b.key) && deepEqual(a.value, b.value) &&
    (a.interval ?? false) === (b.interval ?? false) &&
    (a.dynamicTimeoutSeconds === undefined) === (b.dynamicTimeoutSeconds === undefined);
}
