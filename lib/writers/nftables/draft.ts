/**
 * A change of the table in the making. It takes what each service port put in before and what it
 * shall put in now, and gives two batches: `prepare` makes chains and sets that nothing refers to
 * yet, `main` changes what packets meet.
 *
 * They are two because a packet that is under way when a batch takes effect may already see its new
 * elements and still the old rules of a chain: a chain made in the same batch would be empty to it.
 */
import { deepEqual } from "../../base/deep_equal.ts";
import type { NftElement } from "../../kernel/nftables/operations.ts";
import type { ServicePortKey } from "../../snapshot/snapshot.ts";
import type { Protocol } from "../../base/protocol.ts";
import { type Batch, BatchBuilder, OwnedElements, type Owner } from "./batch.ts";
import type { Contribution } from "./contribution.ts";
import { elementKey } from "../../kernel/nftables/elements.ts";
import { sameElement } from "./elements.ts";
import type { Inventory, RetiredElement, TableView } from "./inventory.ts";
import { allowChain } from "./rules/firewall.ts";
import { pickRules } from "./rules/picks.ts";
import { type ChainWithRules } from "./rules/statements.ts";
import { allowSets, isMetLater, isShared, type SetName, setNames, sets } from "./sets.ts";

/** Deleting from an interval set takes milliseconds for each element; beyond this a new one is faster. */
const deletionsBeforeRebuild = 50;

/** What a draft needs to know. */
export interface DraftOptions {
  /** Counts what is shared; changed at once. */
  readonly inventory: Inventory;
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
    this.#chains(before, after, owner);
    this.#sets(before, after, owner);
    this.#picks(after, owner);
    this.#released.push(before);
  }

  /** A chain that is always there gets other rules. */
  rewrite({ chain, rules }: ChainWithRules, owner?: Owner): void {
    this.#rules.add({ kind: "flush-chain", chain: chain.name }, owner);
    for (const rule of rules) this.#rules.add({ kind: "add-rule", rule }, owner);
  }

  /** The batches, in the order in which they have to be committed; either may be empty. */
  finish(): { readonly prepare: Batch; readonly main: Batch } {
    for (const before of this.#released) this.#release(before);
    const { inventory, leaving = [] } = this.#options;
    for (const each of leaving) {
      if (inventory.takeRetired(each)) this.#remove(each.set, [each.element], undefined);
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

  #acquire(set: SetName, wanted: readonly NftElement[], owner: Owner): void {
    const { inventory } = this.#options;
    const added = wanted.filter((element) => inventory.acquireElement(set, element));
    this.#add(set, added, owner);
  }

  #release(before: Contribution): void {
    const { inventory } = this.#options;
    for (const [set, elements] of before.elements) {
      if (!isShared(set)) continue;
      const removed = elements.filter((element) => inventory.releaseElement(set, element));
      if (isMetLater(set)) {
        for (const element of removed) inventory.retireElement({ set, element });
      } else this.#remove(set, removed, undefined);
    }
    for (const name of before.picks.keys()) {
      if (inventory.releaseChain(name)) inventory.retire(name, "pick");
    }
  }

  #add(set: SetName, wanted: readonly NftElement[], owner: Owner): void {
    const { missing, replaced } = this.#options.view.compare(set, wanted);
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
      this.#rules.add({ kind: "flush-chain", chain: name }, owner);
      this.#options.inventory.retire(name, "chain");
    }
  }

  #sets(before: Contribution, after: Contribution, owner: Owner): void {
    const { inventory, view } = this.#options;
    for (const [name, set] of after.sets) {
      if (before.sets.has(name)) continue;
      if (!view.hasSet(name)) this.#newSets.add({ kind: "add-set", set }, owner);
      inventory.revive(name);
    }
    for (const name of before.sets.keys()) {
      if (!after.sets.has(name)) inventory.retire(name, "set");
    }
  }

  #picks(after: Contribution, owner: Owner): void {
    for (const pick of after.picks.values()) {
      if (this.#options.inventory.acquireChain(pick.name)) this.#makeChain(pickRules(pick), owner);
    }
  }

  #makeChain(wanted: ChainWithRules, owner: Owner): void {
    const { inventory, view } = this.#options;
    const { name } = wanted.chain;
    const state = view.chain(name, wanted.rules);
    if (state !== "same") this.#newChains.push({ ...wanted, owner, exists: state === "differs" });
    inventory.revive(name);
  }

  #prepare(): Batch {
    const batch = this.#newSets;
    for (const { chain, exists, owner } of this.#newChains) {
      if (!exists) batch.add({ kind: "add-chain", chain }, owner);
    }
    for (const { chain, exists, owner, rules } of this.#newChains) {
      if (exists) batch.add({ kind: "flush-chain", chain: chain.name }, owner);
      for (const rule of rules) batch.add({ kind: "add-rule", rule }, owner);
    }
    return batch.build(this.#services);
  }

  #main(): Batch {
    const batch = this.#rules;
    for (const [protocol, set] of allowSetEntries) {
      const removed = this.#removed.get(set)?.elements.length ?? 0;
      if (removed > deletionsBeforeRebuild) this.#rebuild(protocol, set);
    }
    for (const set of setNames.toReversed()) {
      const elements = this.#removed.get(set);
      if (elements) batch.addElements("delete-elements", set, elements);
    }
    for (const set of setNames) {
      const elements = this.#added.get(set);
      if (elements) batch.addElements("add-elements", set, elements);
    }
    return batch.build(this.#services);
  }

  /** The old set and the new one have the same name: a batch sees only what it left itself. */
  #rebuild(protocol: Protocol, set: SetName): void {
    const { chain, rules } = allowChain(protocol);
    const elements = this.#options.wholeSet(set);
    this.#removed.delete(set);
    this.#added.delete(set);
    this.#rules.add({ kind: "flush-chain", chain: chain.name });
    this.#rules.add({ kind: "delete-set", set });
    this.#rules.add({ kind: "add-set", set: sets[set] });
    if (elements.length > 0) this.#rules.add({ kind: "add-elements", set, elements });
    for (const rule of rules) this.#rules.add({ kind: "add-rule", rule });
  }
}

const allowSetEntries: readonly (readonly [Protocol, SetName])[] = [
  ["SCTP", allowSets.SCTP],
  ["TCP", allowSets.TCP],
  ["UDP", allowSets.UDP],
];

function ownedOf(lists: Map<SetName, OwnedElements>, set: SetName): OwnedElements {
  let list = lists.get(set);
  if (!list) lists.set(set, list = new OwnedElements());
  return list;
}
