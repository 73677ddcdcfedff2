/**
 * The table as the kernel holds it, compared once with what is wanted and then consumed: whatever
 * somebody wants is taken out, and what is left at the end is wanted by nobody.
 */
import { deepEqual } from "../../base/deep_equal.ts";
import type {
  Nftables,
  NftElementDifference,
  NftListedRule,
} from "../../kernel/nftables/nftables.ts";
import type {
  NftChain,
  NftElement,
  NftRule,
  NftSet,
  NftTable,
} from "../../kernel/nftables/operations.ts";
import { elementKey } from "../../kernel/nftables/elements.ts";
import { listOf } from "./elements.ts";
import type { ElementComparison, TableView } from "./inventory.ts";
import type { ChainWithRules } from "./rules/statements.ts";
import { type SetName, setNames, sets } from "./sets.ts";

/** Everything the kernel told about the table. */
export interface TableContent {
  readonly chains: ReadonlyMap<string, NftChain>;
  readonly rules: ReadonlyMap<string, readonly NftListedRule[]>;
  readonly sets: ReadonlyMap<string, NftSet>;
  /** Of our own sets that are there: what distinguishes their elements from the wanted ones. */
  readonly differences: ReadonlyMap<SetName, NftElementDifference>;
}

/** Nothing is there. */
export const emptyTable: TableContent = {
  chains: new Map(),
  rules: new Map(),
  sets: new Map(),
  differences: new Map(),
};

/** Reads the table and compares its elements with the wanted ones; undefined when there is no table. */
export async function readTable(
  nftables: Nftables,
  table: NftTable,
  wanted: () => ReadonlyMap<SetName, readonly NftElement[]>,
): Promise<TableContent | undefined> {
  const listing = await nftables.listTable(table);
  if (!listing) return undefined;
  const rules = new Map<string, NftListedRule[]>();
  for (const rule of listing.rules) listOf(rules, rule.chain).push(rule);
  const chains = new Map(listing.chains.map((chain) => [chain.name, chain]));
  const found = new Map(listing.sets.map((set) => [set.name, set]));
  const ours = setNames.filter((name) => {
    const set = found.get(name);
    return set !== undefined && isSameKind(set, sets[name]);
  });
  const elements = Promise.withResolvers<ReadonlyMap<SetName, readonly NftElement[]>>();
  // The sets are read meanwhile.
  const compared = Promise.all(ours.map(async (name) => {
    const desired = elements.promise.then((lists) => lists.get(name) ?? []);
    return [name, await nftables.compareElements(table, sets[name], desired)] as const;
  }));
  try {
    elements.resolve(wanted());
  } catch (error) {
    elements.reject(error);
  }
  return { chains, rules, sets: found, differences: new Map(await compared) };
}

/** One set's difference, by key. */
interface SetIndex {
  readonly missing: Set<string>;
  readonly extra: Map<string, NftElement>;
}

export class TableIndex implements TableView {
  readonly #content: TableContent;
  readonly #sets = new Map<SetName, SetIndex>();
  /** What interval sets hold too much, by what stands before the range. */
  readonly #disallowed = new Map<SetName, Map<string, NftElement[]>>();
  readonly #unknownChains: Set<string>;
  readonly #unknownSets: Set<string>;

  constructor(content: TableContent) {
    this.#content = content;
    this.#unknownChains = new Set(content.chains.keys());
    this.#unknownSets = new Set(content.sets.keys());
    for (const [set, { extra, missing }] of content.differences) {
      const { interval } = sets[set];
      if (interval) this.#disallowed.set(set, byAddressAndPort(extra));
      this.#sets.set(set, {
        missing: new Set(missing.map(elementKey)),
        extra: new Map(interval ? [] : extra.map((element) => [elementKey(element), element])),
      });
    }
  }

  /** Some hook leads here already: packets meet every change at once. */
  get isLive(): boolean {
    return this.#content.chains.values().some((chain) => chain.base !== undefined);
  }

  /** One of our sets exists as something else, which no addition can put right. */
  get isForeign(): boolean {
    return setNames.some((name) => {
      const set = this.#content.sets.get(name);
      return set !== undefined && !isSameKind(set, sets[name]);
    });
  }

  compare(set: SetName, wanted: readonly NftElement[]): ElementComparison {
    const index = this.#sets.get(set);
    if (!index) return { missing: wanted, replaced: [] };
    if (index.missing.size === 0) return { missing: [], replaced: [] };
    const replaced: NftElement[] = [];
    const missing = wanted.filter((element) => {
      const key = elementKey(element);
      if (!index.missing.has(key)) return false;
      const other = index.extra.get(key);
      if (other) replaced.push(other);
      index.extra.delete(key);
      return true;
    });
    return { missing, replaced };
  }

  /** Takes the ranges that an interval set holds too much for this address and port. */
  disallowed(set: SetName, address: string, port: number): readonly NftElement[] {
    const elements = this.#disallowed.get(set);
    const key = elementKey({ key: [address, port] });
    const found = elements?.get(key) ?? [];
    elements?.delete(key);
    return found;
  }

  chain(name: string, rules: readonly NftRule[]): "absent" | "differs" | "same" {
    if (!this.#content.chains.has(name)) return "absent";
    this.#unknownChains.delete(name);
    const listed = this.#content.rules.get(name) ?? [];
    const isSame = listed.length === rules.length &&
      listed.every((rule, i) => rule.matches(rules[i]));
    return isSame ? "same" : "differs";
  }

  /** The same, also asking for the hook: `other` when it is not the wanted one. */
  chainWithHook({ chain, rules }: ChainWithRules): "absent" | "differs" | "other" | "same" {
    const state = this.chain(chain.name, rules);
    if (state === "absent") return state;
    return deepEqual(this.#content.chains.get(chain.name)?.base, chain.base) ? state : "other";
  }

  hasSet(name: string): boolean {
    return this.#unknownSets.delete(name);
  }

  /** Takes what is left in a set. */
  takeRemaining(set: SetName): readonly NftElement[] {
    const extra = [...this.#sets.get(set)?.extra.values() ?? []];
    const ranges = [...this.#disallowed.get(set)?.values() ?? []].flat();
    this.#sets.get(set)?.extra.clear();
    this.#disallowed.delete(set);
    return [...extra, ...ranges];
  }

  /** The set will hold what is wanted, and nothing else. */
  settle(set: SetName): void {
    this.takeRemaining(set);
    this.#sets.get(set)?.missing.clear();
  }

  hasRules(chain: string): boolean {
    return this.#content.rules.has(chain);
  }

  /** Chains that nobody asked for, in sorted order. */
  unknownChains(): readonly string[] {
    return [...this.#unknownChains].sort();
  }

  /** Sets that nobody asked for, in sorted order. */
  unknownSets(): readonly string[] {
    return [...this.#unknownSets].sort();
  }
}

/** Comments and default times may differ: neither changes what happens to a packet. */
function isSameKind(a: NftSet, b: NftSet): boolean {
  return deepEqual(a.key, b.key) && deepEqual(a.value, b.value) &&
    (a.interval ?? false) === (b.interval ?? false) &&
    (a.dynamicTimeoutSeconds === undefined) === (b.dynamicTimeoutSeconds === undefined);
}

function byAddressAndPort(elements: readonly NftElement[]): Map<string, NftElement[]> {
  const groups = new Map<string, NftElement[]>();
  for (const element of elements) {
    listOf(groups, elementKey({ key: element.key.slice(0, 2) })).push(element);
  }
  return groups;
}
