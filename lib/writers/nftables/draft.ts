/**
 * A change of the table in the making. It takes what each service port put in before and what it
 * shall put in now, and gives two batches: `prepare` makes chains and sets that nothing refers to
 * yet, `main` changes what packets meet.
 *
 * They are two because a packet that is under way when a batch takes effect may already see its new
 * elements and still the old rules of a chain: a chain made in the same batch would be empty to it.
 */
import { deepEqual } from "../../base/deep_equal.ts";
import type { NftElement, NftOperation, NftRule } from "../../kernel/nftables/operations.ts";
import type { ServicePortKey } from "../../snapshot/snapshot.ts";
import type { Protocol } from "../../base/protocol.ts";
import { type Batch, BatchBuilder, OwnedElements, type Owner } from "./batch.ts";
import { type Contribution, elementAt, elementsOfList, type EndpointList } from "./contribution.ts";
import { isSame } from "./places.ts";
import { elementKey } from "../../kernel/nftables/element_identity.ts";
import { keyText } from "../../kernel/nftables/text.ts";
import { sameElement } from "./same_element.ts";
import type { ElementComparison, RetiredElement, TableLedger, TableView } from "./table_ledger.ts";
import { allowChain } from "./rules/firewall.ts";
import { pickRules } from "./rules/picks.ts";
import { type ChainWithRules } from "./rules/statements.ts";
import { isMetLater, isShared, protocolOfAllowSet, type SetName } from "./sets.ts";
import { definitionOf, inLookupOrder } from "./shards.ts";

/** Deleting from an interval set takes milliseconds for each element; beyond this a new one is faster. */
const deletionsBeforeRebuild = 50;

/** What a draft needs to know. */
export interface DraftOptions {
  /** Counts what is shared; changed at once. */
  readonly ledger: TableLedger;
  /** What the table holds beside what contributions put in. */
  readonly view: TableView;
  /** All elements that an interval set shall have after the change; asked for rarely. */
  readonly wholeSet: (set: SetName) => readonly NftElement[];
  /** Unneeded since an earlier change: deleted by this one, unless it needs them again. */
  readonly leaving?: readonly RetiredElement[];
}

/** A chain that is about to be used; it may be there already, with other rules. */
interface NewChain extends ChainWithRules {
  readonly owner: Owner;
  readonly exists: boolean;
}

export class Draft {
  readonly #options: DraftOptions;
  readonly #added = new Map<SetName, OwnedElements>();
  readonly #removed = new Map<SetName, OwnedElements>();
  readonly #released: Contribution[] = [];
  readonly #newSets = new BatchBuilder();
  readonly #newChains: NewChain[] = [];
  readonly #rules = new BatchBuilder();
  readonly #leaving: string[] = [];
  readonly #services: ServicePortKey[] = [];

  constructor(options: DraftOptions) {
    this.#options = options;
  }

  /** One service port (or, without owner, the settings) goes from `before` to `after`. */
  change(before: Contribution, after: Contribution, owner: Owner): void {
    if (owner !== undefined) this.#services.push(owner);
    for (const [set, wanted] of after.elements) {
      if (isShared(set)) this.#acquire(set, wanted, owner);
      else this.#diff(set, { old: before.elements.get(set) ?? [], wanted, owner });
    }
    for (const [set, old] of before.elements) {
      if (!isShared(set) && !after.elements.has(set)) this.#remove(set, old, owner);
    }
    this.#lists(before, after, owner);
    this.#chains(before, after, owner);
    this.#sets(after, owner);
    this.#clients(before, after);
    this.#picks(after, owner);
    this.#released.push(before);
  }

  /** A chain that is always there gets other rules. */
  rewrite({ chain, rules }: ChainWithRules, owner?: Owner): void {
    this.#rules.add([{ kind: "flush-chain", chain: chain.name }, ...rules.map(addRule)], owner);
  }

  /** The batches, in the order in which they have to be committed; either may be empty. */
  finish(): { readonly prepare: Batch; readonly main: Batch } {
    for (const before of this.#released) this.#release(before);
    const { ledger, leaving = [] } = this.#options;
    for (const each of leaving) {
      if (ledger.takeRetired(each)) this.#remove(each.set, [each.element], undefined);
    }
    return { prepare: this.#prepare(), main: this.#main() };
  }

  #diff(
    set: SetName,
    { old, wanted, owner }: {
      readonly old: readonly NftElement[];
      readonly wanted: readonly NftElement[];
      readonly owner: Owner;
    },
  ): void {
    if (old.length === 0) return this.#add(set, wanted, owner);
    const gone = new Map(old.map((element) => [elementKey(element), element]));
    const added = wanted.filter((element) => {
      const key = elementKey(element);
      const known = gone.get(key);
      const isKept = known !== undefined && sameElement(known, element);
      if (isKept) gone.delete(key);
      return !isKept;
    });
    this.#add(set, added, owner);
    this.#remove(set, [...gone.values()], owner);
  }

  #lists(before: Contribution, after: Contribution, owner: Owner): void {
    const known = new Map(before.lists.map((list) => [listName(list), list]));
    for (const list of after.lists) {
      const name = listName(list);
      const old = known.get(name);
      known.delete(name);
      if (old) this.#diffList(old, list, owner);
      else this.#write(list.set, this.#options.view.compareList(list), owner);
    }
    for (const list of known.values()) {
      this.#remove(list.set, [...elementsOfList(list)], owner);
    }
  }

  #diffList(before: EndpointList, after: EndpointList, owner: Owner): void {
    const added: NftElement[] = [];
    const gone: NftElement[] = [];
    const places = Math.max(before.endpoints.length, after.endpoints.length);
    for (let place = 0; place < places; place++) {
      if (isSame(before.endpoints[place], after.endpoints[place])) continue;
      if (place < before.endpoints.length) gone.push(elementAt(before, place));
      if (place < after.endpoints.length) added.push(elementAt(after, place));
    }
    this.#add(after.set, added, owner);
    this.#remove(before.set, gone, owner);
  }

  #acquire(set: SetName, wanted: readonly NftElement[], owner: Owner): void {
    const { ledger } = this.#options;
    const added = wanted.filter((element) => ledger.acquireElement(set, element));
    this.#add(set, added, owner);
  }

  #release(before: Contribution): void {
    const { ledger } = this.#options;
    for (const [set, elements] of before.elements) {
      if (!isShared(set)) continue;
      const removed = elements.filter((element) => ledger.releaseElement(set, element));
      if (isMetLater(set)) {
        for (const element of removed) ledger.retireElement({ set, element });
      } else this.#remove(set, removed, undefined);
    }
    for (const name of before.picks.keys()) {
      if (ledger.releaseChain(name)) ledger.retire(name, "pick");
    }
    for (const name of before.sets) {
      if (ledger.releaseSet(name)) ledger.retire(name, "set");
    }
  }

  #add(set: SetName, wanted: readonly NftElement[], owner: Owner): void {
    this.#write(set, this.#options.view.compare(set, wanted), owner);
  }

  #write(set: SetName, { missing, replaced }: ElementComparison, owner: Owner): void {
    this.#remove(set, replaced, owner);
    if (missing.length > 0) ownedOf(this.#added, set).push(missing, owner);
  }

  #remove(set: SetName, elements: readonly NftElement[], owner: Owner): void {
    if (elements.length > 0) ownedOf(this.#removed, set).push(elements, owner);
  }

  #chains(before: Contribution, after: Contribution, owner: Owner): void {
    for (const [name, rules] of after.chains) {
      const known = before.chains.get(name);
      if (!known) this.#makeChain({ chain: { name }, rules }, owner);
      else if (!deepEqual(known, rules)) this.rewrite({ chain: { name }, rules }, owner);
    }
    for (const name of before.chains.keys()) {
      if (after.chains.has(name)) continue;
      this.#leaving.push(name);
      this.#options.ledger.retire(name, "chain");
    }
  }

  #sets(after: Contribution, owner: Owner): void {
    const { ledger, view } = this.#options;
    for (const name of after.sets) {
      if (!ledger.acquireSet(name)) continue;
      const set = definitionOf(name);
      if (set && !view.hasSet(name)) this.#newSets.add({ kind: "add-set", set }, owner);
      ledger.revive(name);
    }
  }

  #clients(before: Contribution, after: Contribution): void {
    const { ledger } = this.#options;
    for (const [endpoint, set] of before.clients) {
      if (!after.clients.has(endpoint)) ledger.clientsLeft(endpoint, set);
    }
    for (const endpoint of after.clients.keys()) ledger.clientsStay(endpoint);
  }

  #picks(after: Contribution, owner: Owner): void {
    for (const pick of after.picks.values()) {
      if (this.#options.ledger.acquireChain(pick.name)) this.#makeChain(pickRules(pick), owner);
    }
  }

  #makeChain(wanted: ChainWithRules, owner: Owner): void {
    const { ledger, view } = this.#options;
    const { name } = wanted.chain;
    const state = view.chain(name, wanted.rules);
    if (state !== "same") this.#newChains.push({ ...wanted, owner, exists: state === "differs" });
    ledger.revive(name);
  }

  #prepare(): Batch {
    const batch = this.#newSets;
    for (const { chain, exists, owner } of this.#newChains) {
      if (!exists) batch.add({ kind: "add-chain", chain }, owner);
    }
    for (const { chain, exists, owner, rules } of this.#newChains) {
      const flush: NftOperation = { kind: "flush-chain", chain: chain.name };
      batch.add([...exists ? [flush] : [], ...rules.map(addRule)], owner);
    }
    return batch.build(this.#services);
  }

  /**
   * In an order that does no harm where it has to be cut: what is new from what is looked up last to
   * what is looked up first, then what is gone the other way round.
   */
  #main(): Batch {
    const batch = this.#rules;
    const touched = inLookupOrder(new Set([...this.#added.keys(), ...this.#removed.keys()]));
    for (const set of touched) {
      const protocol = protocolOfAllowSet.get(set);
      if (protocol) this.#changeRanges(protocol, set);
      else this.#replace(set);
      const owned = this.#added.get(set);
      if (owned) batch.addPiece({ kind: "add-elements", set, owned });
    }
    for (const set of touched.toReversed()) {
      const owned = this.#removed.get(set);
      if (owned) batch.addPiece({ kind: "delete-elements", set, owned });
    }
    for (const chain of this.#leaving) batch.add({ kind: "flush-chain", chain });
    return batch.build(this.#services);
  }

  /** Takes out what is both gone and new: the kernel adds no key that is there with another value. */
  #replace(set: SetName): void {
    const gone = this.#removed.get(set);
    const added = this.#added.get(set);
    if (!gone || !added) return;
    const keys = new Map(gone.elements.map((element, i) => [elementKey(element), i]));
    const [only, out, into] = [0, 1, 2].map(() => new OwnedElements());
    for (const [i, element] of added.elements.entries()) {
      const owner = added.ownerAt(i);
      const key = elementKey(element);
      const at = keys.get(key);
      if (at === undefined) {
        only.add(element, owner);
        continue;
      }
      keys.delete(key);
      out.add(gone.elements[at], gone.ownerAt(at));
      into.add(element, owner);
    }
    if (into.elements.length === 0) return;
    this.#rules.addPiece({ kind: "replace-elements", set, removed: out, added: into });
    this.#added.set(set, only);
    const rest = new OwnedElements();
    for (const at of keys.values()) rest.add(gone.elements[at], gone.ownerAt(at));
    this.#removed.set(set, rest);
  }

  /** Ranges overlap, so those of before have to go first. */
  #changeRanges(protocol: Protocol, set: SetName): void {
    const removed = this.#removed.get(set) ?? new OwnedElements();
    const added = this.#added.get(set) ?? new OwnedElements();
    this.#removed.delete(set);
    this.#added.delete(set);
    if (removed.elements.length > deletionsBeforeRebuild) return this.#rebuild(protocol, set);
    this.#rules.addPiece({ kind: "delete-elements", set, owned: removed });
    this.#rules.addPiece({ kind: "add-elements", set, owned: added });
  }

  /**
   * The old set and the new one have the same name: a batch sees only what it left itself. Where it is
   * too much for one batch, a client is refused until its range is there again.
   */
  #rebuild(protocol: Protocol, set: SetName): void {
    const { chain, rules } = allowChain(protocol);
    const owned = new OwnedElements();
    owned.push(this.#options.wholeSet(set), undefined);
    const { elements } = owned;
    const flush: readonly NftOperation[] = [
      { kind: "flush-chain", chain: chain.name },
      { kind: "delete-set", set },
      { kind: "add-set", set: definitionOf(set) },
    ];
    const addRules = rules.map(addRule);
    const addElements: readonly NftOperation[] = elements.length > 0
      ? [{ kind: "add-elements", set, elements }]
      : [];
    this.#rules.addPiece({
      kind: "whole",
      operations: [...flush, ...addElements, ...addRules],
      owner: undefined,
      otherwise: [
        { kind: "whole", operations: [...flush, ...addRules], owner: undefined },
        { kind: "add-elements", set, owned },
      ],
    });
  }
}

function addRule(rule: NftRule): NftOperation {
  return { kind: "add-rule", rule };
}

function listName({ key, set }: EndpointList): string {
  return `${set} ${keyText(key)}`;
}

function ownedOf(lists: Map<SetName, OwnedElements>, set: SetName): OwnedElements {
  let list = lists.get(set);
  if (!list) lists.set(set, list = new OwnedElements());
  return list;
}
