/**
 * What the writer remembers of the table beside the service ports that it applied: how many of them
 * need what several share, and what nobody needs any more but is still there.
 *
 * An unneeded chain is deleted in a later batch than the elements that led to it: kernels before 6.2
 * hold on to it until then. Elements that a packet meets only on its way out also leave later than
 * those that led it there. Meanwhile all of them can be taken into use again.
 */
import type { NftElement, NftOperation, NftRule } from "../../kernel/nftables/operations.ts";
import { elementKey } from "../../kernel/nftables/elements.ts";
import type { SetName } from "./sets.ts";

/** What the table holds where no service port is known to have put it. */
export interface TableView {
  /** Which of these elements are not there, and what is there under their keys; asked once for each. */
  compare(set: SetName, wanted: readonly NftElement[]): ElementComparison;
  chain(name: string, rules: readonly NftRule[]): "absent" | "differs" | "same";
  hasSet(name: string): boolean;
}

/** What has to be added, and what has to go before. */
export interface ElementComparison {
  readonly missing: readonly NftElement[];
  readonly replaced: readonly NftElement[];
}

/** An element of a shared set that nobody needs. */
export interface RetiredElement {
  readonly set: SetName;
  readonly element: NftElement;
}

/** `pick`: a chain with its rules; `chain`: an empty one. */
type Retired = "chain" | "pick" | "set" | RetiredElement;

/** How many service ports need what has this name. */
type Uses = Map<string, number>;

export class Inventory implements TableView {
  readonly #chainUses: Uses = new Map();
  readonly #elementUses = new Map<SetName, Uses>();
  readonly #retired = new Map<string, Retired>();

  /** Counts one more user of a shared chain; true when it is the first. */
  acquireChain(name: string): boolean {
    return acquire(this.#chainUses, name);
  }

  /** Counts one user less; true when it was the last. */
  releaseChain(name: string): boolean {
    return release(this.#chainUses, name);
  }

  /** Counts one more user of an element in a shared set; true when it has to be added. */
  acquireElement(set: SetName, element: NftElement): boolean {
    let uses = this.#elementUses.get(set);
    if (!uses) this.#elementUses.set(set, uses = new Map());
    if (!acquire(uses, elementKey(element))) return false;
    const isStillThere = this.#retired.delete(nameOf({ set, element }));
    return !isStillThere;
  }

  /** Counts one user less; true when it was the last. */
  releaseElement(set: SetName, element: NftElement): boolean {
    const uses = this.#elementUses.get(set);
    return !uses || release(uses, elementKey(element));
  }

  /** Nobody needs it any more. */
  retire(name: string, kind: Retired): void {
    this.#retired.set(name, kind);
  }

  /** Nobody needs the element any more. */
  retireElement(retired: RetiredElement): void {
    this.#retired.set(nameOf(retired), retired);
  }

  /** The elements that are there and not needed. */
  retiredElements(): readonly RetiredElement[] {
    return [...this.#retired.values()].filter((retired) => typeof retired === "object");
  }

  /** Whether the element is still not needed; if so it is forgotten, and has to be deleted. */
  takeRetired(retired: RetiredElement): boolean {
    return this.#retired.delete(nameOf(retired));
  }

  /** Somebody needs it again. */
  revive(name: string): void {
    this.#retired.delete(name);
  }

  /** What is there and not needed, in sorted order. */
  retired(): readonly string[] {
    return [...this.#retired.keys()].sort();
  }

  /** Deletes those of them that are still not needed. */
  deletions(names: readonly string[]): readonly NftOperation[] {
    const kinds = names.flatMap((name) => {
      const kind = this.#retired.get(name);
      return kind ? [{ name, kind }] : [];
    });
    const chains = kinds.filter(({ kind }) => kind === "chain" || kind === "pick");
    const retiredSets = kinds.filter(({ kind }) => kind === "set");
    const elements = kinds.map(({ kind }) => kind).filter((kind) => typeof kind === "object");
    // Rules hold sets and chains, elements of maps hold chains.
    return [
      ...Map.groupBy(elements, ({ set }) => set).entries().map(([set, list]): NftOperation => (
        { kind: "delete-elements", set, elements: list.map(({ element }) => element) }
      )),
      ...chains.map(({ name }): NftOperation => ({ kind: "flush-chain", chain: name })),
      ...retiredSets.map(({ name }): NftOperation => ({ kind: "delete-set", set: name })),
      ...chains.map(({ name }): NftOperation => ({ kind: "delete-chain", chain: name })),
    ];
  }

  /** They are gone from the table. */
  forget(names: readonly string[]): void {
    for (const name of names) this.#retired.delete(name);
  }

  compare(_set: SetName, wanted: readonly NftElement[]): ElementComparison {
    return { missing: wanted, replaced: [] };
  }

  chain(name: string): "absent" | "differs" | "same" {
    const kind = this.#retired.get(name);
    if (kind === "pick") return "same";
    return kind === "chain" ? "differs" : "absent";
  }

  hasSet(name: string): boolean {
    return this.#retired.get(name) === "set";
  }
}

/** No chain and no set has a space in its name. */
function nameOf({ element, set }: RetiredElement): string {
  return `${set} ${elementKey(element)}`;
}

function acquire(all: Uses, name: string): boolean {
  const uses = all.get(name) ?? 0;
  all.set(name, uses + 1);
  return uses === 0;
}

function release(all: Uses, name: string): boolean {
  const uses = (all.get(name) ?? 0) - 1;
  if (uses > 0) all.set(name, uses);
  else all.delete(name);
  return uses <= 0;
}
