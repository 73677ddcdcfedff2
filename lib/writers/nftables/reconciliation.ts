/**
 * From whatever the table holds to what it shall hold, in batches that never leave a frontend half
 * done: a first load, a restart, a takeover of the table that upstream's proxy made, a repair. What
 * is right already is adopted; where everything is right there is nothing to write.
 *
 * Hooks come last where none was there, so that a first load takes effect as a whole. Where packets
 * flow through the table already, elements and chains of before keep working until theirs are
 * replaced, and are removed only after that.
 */
import type { NftElement } from "../../kernel/nftables/operations.ts";
import type { ServicePort } from "../../snapshot/snapshot.ts";
import { type Batch, BatchBuilder } from "./batch.ts";
import {
  type Contribution,
  contributionOf,
  contributionOfSettings,
  emptyContribution,
} from "./contribution.ts";
import { Draft } from "./draft.ts";
import { type Desired, elementsPerBatch } from "./desired.ts";
import { listOf } from "./elements.ts";
import { Inventory } from "./inventory.ts";
import { baseChains } from "./rules/base_chains.ts";
import type { ChainWithRules } from "./rules/statements.ts";
import { regularChains } from "./rules/static_chains.ts";
import { allowSets, type SetName, setNames, sets } from "./sets.ts";
import { allowElements } from "./source_ranges.ts";
import { emptyTable, type TableContent, TableIndex } from "./table_index.ts";

/** Where the way starts. */
export interface ReconciliationStart {
  /** What the kernel holds; undefined when there is no table. */
  readonly content: TableContent | undefined;
  /** Names that are known to be unneeded, and may stay for a while. */
  readonly retired: ReadonlySet<string>;
}

export class Reconciliation {
  readonly #desired: Desired;
  readonly #start: ReconciliationStart;
  readonly #index: TableIndex;
  /** What is true of the table once all batches are committed. */
  readonly inventory = new Inventory();

  constructor(desired: Desired, start: ReconciliationStart) {
    this.#desired = desired;
    this.#start = start;
    this.#index = new TableIndex(start.content ?? emptyTable);
  }

  /**
   * The batches, to be committed in this order and each before the next is asked for. Some are empty:
   * there the event loop may have a turn.
   */
  *batches(): Generator<Batch> {
    const wasLive = this.#index.isLive;
    const regular = regularChains(this.#desired.context);
    yield this.#structure(wasLive ? [...regular, ...baseChains()] : regular);
    yield* this.#services();
    if (!wasLive) yield chainBatch(this.#index, baseChains());
    yield* this.#remains();
    yield this.#unknown();
  }

  /** One of our sets exists as another kind: the table has to be made anew, in one batch. */
  get isImpossible(): boolean {
    return this.#index.isForeign;
  }

  /** Whether anything has to be written or removed; asked instead of `batches`. */
  isNeeded(): boolean {
    for (const { operations } of this.batches()) if (operations.length > 0) return true;
    return this.inventory.retired().some((name) => !this.#start.retired.has(name));
  }

  #structure(chains: readonly ChainWithRules[]): Batch {
    const batch = new BatchBuilder();
    if (!this.#start.content) batch.add({ kind: "add-table" });
    for (const name of setNames) {
      if (!this.#index.hasSet(name)) batch.add({ kind: "add-set", set: sets[name] });
    }
    return chainBatch(this.#index, chains, batch);
  }

  *#services(): Generator<Batch> {
    const { settings } = this.#desired.context;
    const draft = this.#draft();
    draft.change(emptyContribution, contributionOfSettings(settings), undefined);
    yield draft.finish().main;
    for (const group of this.#desired.groups) {
      const draft = this.#draft();
      for (const servicePort of group) {
        const after = this.#desired.contributions?.get(servicePort.key) ??
          contributionOf(servicePort, settings.leftovers);
        draft.change(this.#before(servicePort), after, servicePort.key);
      }
      const { main, prepare } = draft.finish();
      yield prepare;
      yield main;
    }
  }

  /** Ranges overlap, so those of before have to go in the batch that brings the new ones. */
  #before({ loadBalancerVIPs, port, protocol }: ServicePort): Contribution {
    const set = allowSets[protocol];
    const elements = [...new Set(loadBalancerVIPs)]
      .flatMap((vip) => this.#index.disallowed(set, vip, port));
    if (elements.length === 0) return emptyContribution;
    return { ...emptyContribution, elements: new Map([[set, elements]]) };
  }

  /** Elements that nobody wants, from what is looked up first to what is looked up last. */
  *#remains(): Generator<Batch> {
    let remains = new Map<SetName, NftElement[]>();
    let count = 0;
    for (const set of setNames.toReversed()) {
      for (const element of this.#index.takeRemaining(set)) {
        listOf(remains, set).push(element);
        if (++count < elementsPerBatch) continue;
        yield this.#removal(remains);
        remains = new Map();
        count = 0;
      }
    }
    if (count > 0) yield this.#removal(remains);
  }

  #removal(elements: ReadonlyMap<SetName, readonly NftElement[]>): Batch {
    const draft = this.#draft();
    draft.change({ ...emptyContribution, elements }, emptyContribution, undefined);
    return draft.finish().main;
  }

  /** Chains and sets that nobody wants are emptied now and deleted in a later batch. */
  #unknown(): Batch {
    const batch = new BatchBuilder();
    for (const chain of this.#index.unknownChains()) {
      const isToBeEmptied = !this.#start.retired.has(chain) && this.#index.hasRules(chain);
      if (isToBeEmptied) batch.add({ kind: "flush-chain", chain });
      this.inventory.retire(chain, "chain");
    }
    for (const set of this.#index.unknownSets()) this.inventory.retire(set, "set");
    return batch.build();
  }

  #draft(): Draft {
    return new Draft({
      inventory: this.inventory,
      view: this.#index,
      wholeSet: (set) => {
        this.#index.settle(set);
        return this.#desired.groups.flat()
          .filter(({ protocol }) => allowSets[protocol] === set)
          .flatMap(allowElements);
      },
    });
  }
}

/** Makes the chains as they shall be; a hook cannot be changed, only made again. */
function chainBatch(
  index: TableIndex,
  chains: readonly ChainWithRules[],
  batch = new BatchBuilder(),
): Batch {
  const states = chains.map((wanted) => ({ ...wanted, state: index.chainWithHook(wanted) }));
  for (const { chain, state } of states) {
    if (state === "differs" || state === "other") {
      batch.add({ kind: "flush-chain", chain: chain.name });
    }
    if (state === "other") batch.add({ kind: "delete-chain", chain: chain.name });
    if (state === "other" || state === "absent") batch.add({ kind: "add-chain", chain });
  }
  for (const { rules, state } of states) {
    if (state === "same") continue;
    for (const rule of rules) batch.add({ kind: "add-rule", rule });
  }
  return batch.build();
}
