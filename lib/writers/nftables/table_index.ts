/**
 * The table as the kernel holds it, compared once with what is wanted and then consumed: whatever
 * somebody wants is taken out, and what is left at the end is wanted by nobody.
 */
import { deepEqual } from "../../base/deep_equal.ts";
import type { NftElement, NftRule } from "../../kernel/nftables/operations.ts";
import { elementKey } from "../../kernel/nftables/element_identity.ts";
import { listOf } from "../../base/list_of.ts";
import { type ElementComparison, everythingOf, type TableView } from "./table_ledger.ts";
import type { ChainWithRules } from "./rules/statements.ts";
import type { EndpointList } from "./contribution.ts";
import { ListIndex } from "./list_index.ts";
import type { Places } from "./places.ts";
import { sameElement } from "./same_element.ts";
import type { SetName } from "./sets.ts";
import { definitionOf, inLookupOrder, isEndpointMap } from "./shards.ts";
import { isSameKind, type TableContent } from "./table_reading.ts";

/** Nothing is there. */
export const emptyTable: TableContent = {
  isDormant: false,
  ownerPort: undefined,
  chains: new Map(),
  rules: new Map(),
  sets: new Map(),
  counts: new Map(),
  differences: new Map(),
};

/** One set's difference, by key. */
interface SetIndex {
  readonly missing: Set<string>;
  readonly extra: Map<string, NftElement>;
}

export class TableIndex implements TableView {
  readonly #content: TableContent;
  readonly #sets = new Map<SetName, SetIndex>();
  readonly #lists = new Map<SetName, ListIndex>();
  /** What interval sets hold too much, by what stands before the range. */
  readonly #disallowed = new Map<SetName, Map<string, NftElement[]>>();
  readonly #unknownChains: Set<string>;
  readonly #unknownSets: Set<string>;

  constructor(content: TableContent) {
    this.#content = content;
    this.#unknownChains = new Set(content.chains.keys());
    this.#unknownSets = new Set(content.sets.keys());
    for (const [set, difference] of content.differences) {
      if (isEndpointMap(set)) {
        this.#lists.set(set, new ListIndex(difference));
        continue;
      }
      const { extra, missing } = difference;
      const interval = definitionOf(set)?.interval ?? false;
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
    return this.#content.sets.values().some((set) => {
      const definition = definitionOf(set.name);
      return definition !== undefined && !isSameKind(set, definition);
    });
  }

  /** Which endpoints the kernel has in the places of a list as it shall be; undefined where it is that. */
  placesOf(list: EndpointList): Places | undefined {
    return this.#lists.get(list.set)?.placesOf(list);
  }

  compareList(list: EndpointList): ElementComparison {
    return this.#lists.get(list.set)?.compare(list) ?? everythingOf(list);
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
      index.extra.delete(key);
      if (other && sameElement(other, element)) return false;
      if (other) replaced.push(other);
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
    this.#unknownSets.delete(name);
    return this.#content.sets.has(name);
  }

  /** Somebody wants all chains and sets that are there. */
  adoptStructure(): void {
    this.#unknownChains.clear();
    this.#unknownSets.clear();
  }

  /** Sets that somebody wants and whose elements are known, from what is looked up last to what is looked up first. */
  wantedSets(): readonly SetName[] {
    const known = [...this.#sets.keys(), ...this.#lists.keys()];
    return inLookupOrder(known.filter((set) => !this.#unknownSets.has(set)));
  }

  /** Takes what is left in a set. */
  takeRemaining(set: SetName): readonly NftElement[] {
    const extra = [...this.#sets.get(set)?.extra.values() ?? []];
    const ranges = [...this.#disallowed.get(set)?.values() ?? []].flat();
    this.#sets.get(set)?.extra.clear();
    this.#disallowed.delete(set);
    return [...extra, ...ranges, ...this.#lists.get(set)?.takeRemaining() ?? []];
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

function byAddressAndPort(elements: readonly NftElement[]): Map<string, NftElement[]> {
  const groups = new Map<string, NftElement[]>();
  for (const element of elements) {
    listOf(groups, elementKey({ key: element.key.slice(0, 2) })).push(element);
  }
  return groups;
}
