/**
 * What the writer remembers of the table beside the service ports that it applied: how many of them
 * need what several share, and what nobody needs any more but is still there.
 *
 * An unneeded chain is deleted in a later batch than the elements that led to it: kernels before 6.2
 * hold on to it until then. Elements that a packet meets only on its way out also leave later than
 * those that led it there. Meanwhile all of them can be taken into use again.
 */
import type { NftElement, NftRule } from "../../kernel/nftables/operations.ts";
import { elementKey } from "../../kernel/nftables/element_identity.ts";
import { type Batch, BatchBuilder, OwnedElements } from "./batch.ts";
import { Census } from "./census.ts";
import { elementsOfList, type EndpointList } from "./contribution.ts";
import type { GoneClients } from "./gone_clients.ts";
import type { PickChain } from "./names.ts";
import { isShared, type SetName } from "./sets.ts";

/** What the table holds where no service port is known to have put it. */
export interface TableView {
  /** Which of these elements are not there, and what is there under their keys; asked once for each. */
  compare(set: SetName, wanted: readonly NftElement[]): ElementComparison;
  /** The same of all elements of a list. */
  compareList(list: EndpointList): ElementComparison;
  chain(name: string, rules: readonly NftRule[]): "absent" | "differs" | "same";
  hasSet(name: string): boolean;
}

/** What has to be added, and what has to go before. */
export interface ElementComparison {
  readonly missing: readonly NftElement[];
  readonly replaced: readonly NftElement[];
}

/** Of a list of which nothing is there. */
export function everythingOf(list: EndpointList): ElementComparison {
  return { missing: [...elementsOfList(list)], replaced: [] };
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

export class TableLedger implements TableView {
  /** What service ports do not share. */
  readonly census = new Census();
  readonly #chainUses: Uses = new Map();
  readonly #setUses: Uses = new Map();
  /** Where clients of endpoints that are gone may be remembered, by the endpoint's number. */
  readonly #goneEndpoints = new Map<number, string>();
  readonly #elementUses = new Map<SetName, Uses>();
  readonly #retired = new Map<string, Retired>();

  /** The endpoint with this number is gone; the set remembers its clients. */
  clientsLeft(endpoint: number, set: string): void {
    this.#goneEndpoints.set(endpoint, set);
  }

  /** The endpoint is there: its clients are remembered. */
  clientsStay(endpoint: number): void {
    this.#goneEndpoints.delete(endpoint);
  }

  /** What sets remember of endpoints that are gone. */
  goneClients(): readonly GoneClients[] {
    return [...Map.groupBy(this.#goneEndpoints, ([, set]) => set)].map(([set, gone]) => ({
      set,
      endpoints: new Set(gone.map(([endpoint]) => endpoint)),
    }));
  }

  /** The set remembers them no more. */
  clientsForgotten({ endpoints }: GoneClients): void {
    for (const endpoint of endpoints) this.#goneEndpoints.delete(endpoint);
  }

  /** Counts one more user of a shared chain; true when it is the first. */
  acquireChain(name: string): boolean {
    return acquire(this.#chainUses, name);
  }

  /** Counts one user less; true when it was the last. */
  releaseChain(name: string): boolean {
    return release(this.#chainUses, name);
  }

  /** Counts one more user of a set that is there while somebody needs it; true when it is the first. */
  acquireSet(name: string): boolean {
    return acquire(this.#setUses, name);
  }

  /** Counts one user less; true when it was the last. */
  releaseSet(name: string): boolean {
    return release(this.#setUses, name);
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

  /** The chains of choice that somebody needs. */
  picksInUse(): readonly PickChain[] {
    return this.census.picks((name) => this.#chainUses.has(name));
  }

  /** The sets that are there because somebody needs them. */
  setsInUse(): readonly string[] {
    return [...this.#setUses.keys()];
  }

  /** How many elements the set has, those that nobody needs any more among them. */
  elementsOf(set: SetName): number {
    if (!isShared(set)) return this.census.elementsOf(set);
    const retired = this.retiredElements().filter((each) => each.set === set).length;
    return (this.#elementUses.get(set)?.size ?? 0) + retired;
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

  /** The chains among them. */
  retiredChains(): readonly string[] {
    return [...this.#retired].filter(([, kind]) => kind === "chain" || kind === "pick")
      .map(([name]) => name);
  }

  /** Deletes those of them that are still not needed; each operation's owner is the name. */
  deletions(names: readonly string[]): Batch {
    const kinds = names.flatMap((name) => {
      const kind = this.#retired.get(name);
      return kind ? [{ name, kind }] : [];
    });
    const chains = kinds.filter(({ kind }) => kind === "chain" || kind === "pick");
    const retiredSets = kinds.filter(({ kind }) => kind === "set");
    const elements = kinds.flatMap(({ kind, name }) =>
      typeof kind === "object" ? [{ ...kind, name }] : []
    );
    // Rules hold sets and chains, elements of maps hold chains.
    const batch = new BatchBuilder();
    for (const [set, list] of Map.groupBy(elements, ({ set }) => set)) {
      const owned = new OwnedElements();
      for (const { element, name } of list) owned.add(element, name);
      batch.addPiece({ kind: "delete-elements", set, owned });
    }
    for (const { name } of chains) batch.add({ kind: "flush-chain", chain: name }, name);
    for (const { name } of retiredSets) batch.add({ kind: "delete-set", set: name }, name);
    for (const { name } of chains) batch.add({ kind: "delete-chain", chain: name }, name);
    return batch.build();
  }

  /** They are gone from the table. */
  forget(names: readonly string[]): void {
    for (const name of names) this.#retired.delete(name);
  }

  compareList(list: EndpointList): ElementComparison {
    return everythingOf(list);
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
