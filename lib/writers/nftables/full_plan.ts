/**
 * From whatever the table holds to what it shall hold, in batches that never leave a frontend half
 * done: a first load, a restart, a takeover of the table that upstream's proxy made, a repair. What
 * is right already is adopted; where everything is right there is nothing to write.
 *
 * Hooks come last where none was there, so that a first load takes effect as a whole. Where packets
 * flow through the table already, elements and chains of before keep working until theirs are
 * replaced, and are removed only after that.
 */
import type { NftElement, NftOperation } from "../../kernel/nftables/operations.ts";
import type { Endpoint, ServicePort, ServicePortKey } from "../../snapshot/snapshot.ts";
import { type Batch, BatchBuilder, mergeBatches } from "./batch.ts";
import {
  type Contribution,
  contributionOf,
  contributionOfSettings,
  emptyContribution,
} from "./contribution.ts";
import { Draft } from "./draft.ts";
import { type Desired, elementsPerBatch } from "./desired.ts";
import { listOf } from "../../base/list_of.ts";
import { inPlaces, type Places } from "./places.ts";
import type { Narrowed } from "./narrowing.ts";
import { TableLedger } from "./table_ledger.ts";
import { baseChains } from "./rules/base_chains.ts";
import type { ChainWithRules } from "./rules/statements.ts";
import { regularChains } from "./rules/static_chains.ts";
import { allowSets, type SetName, setNames, sets } from "./sets.ts";
import { allowElements } from "./source_ranges.ts";
import { emptyTable, TableIndex } from "./table_index.ts";
import type { TableContent } from "./table_reading.ts";

/** Where the way starts. */
export interface FullPlanStart {
  /** What the kernel holds; undefined when there is no table. */
  readonly content: TableContent | undefined;
  /** Names that are known to be unneeded, and may stay for a while. */
  readonly retired: ReadonlySet<string>;
  /**
   * Each commit is long: as few as possible make a table that packets do not meet yet. A refusal of such a
   * batch says less. False when absent.
   */
  readonly joins?: boolean;
  /** Everything else is right already. All has to be planned when absent. */
  readonly narrowed?: Narrowed;
}

export class FullPlan {
  readonly #desired: Desired;
  readonly #start: FullPlanStart;
  readonly #index: TableIndex;
  /** What is true of the table once all batches are committed. */
  readonly ledger: TableLedger;
  /** Counts what the planned service ports share. */
  readonly #planned: TableLedger;
  /** Service ports whose endpoints have other places in the table than in their lists. */
  readonly placed = new Map<ServicePortKey, ServicePort>();

  constructor(desired: Desired, start: FullPlanStart) {
    this.#desired = desired;
    this.#start = start;
    this.#index = new TableIndex(start.content ?? emptyTable);
    this.#planned = new TableLedger();
    this.ledger = start.narrowed?.ledger ?? this.#planned;
    if (start.narrowed) this.#index.adoptStructure();
  }

  /**
   * The batches, to be committed in this order and each before the next is asked for. Some are empty:
   * there the event loop may have a turn.
   */
  *batches(): Generator<Batch> {
    if (this.#start.narrowed) yield* this.#differences();
    else yield* this.#everything();
  }

  /** Packets flow through such a table, and its chains and sets are those that are wanted. */
  *#differences(): Generator<Batch> {
    yield this.#settings();
    yield* this.#services();
    yield* this.#remains();
    for (const each of this.#planned.retiredElements()) this.ledger.retireElement(each);
  }

  *#everything(): Generator<Batch> {
    const wasLive = this.#index.isLive;
    const regular = regularChains(this.#desired.context);
    const structure = this.#structure(wasLive ? [...regular, ...baseChains()] : regular);
    const first = mergeBatches([], [structure, this.#settings()]);
    if (wasLive) {
      yield first;
      yield* this.#services();
    } else yield* this.#beforeAnyPacket(first);
    if (this.#start.content?.isDormant) yield this.#awakening();
    yield* this.#remains();
    this.#retireUnknown();
  }

  /** Chains with rules that nobody wants: to be emptied after the batches, and deleted after that. */
  get chainsToEmpty(): readonly string[] {
    return this.#index.unknownChains().filter((chain) =>
      !this.#start.retired.has(chain) && this.#index.hasRules(chain)
    );
  }

  /** One of our sets exists as another kind: the table has to be made anew, in one batch. */
  get isImpossible(): boolean {
    return this.#index.isForeign;
  }

  /** Hooks begin a moment before the elements of their batch are there, so they come behind those of all Services. */
  *#beforeAnyPacket(first: Batch): Generator<Batch> {
    if (!this.#start.joins) {
      yield first;
      yield* this.#services();
      yield chainBatch(this.#index, baseChains());
      return;
    }
    let waiting = [first];
    for (const group of this.#groups()) {
      yield mergeBatches([], [...waiting, ...group]);
      waiting = [];
    }
    yield mergeBatches([], [...waiting, chainBatch(this.#index, baseChains())]);
  }

  #structure(chains: readonly ChainWithRules[]): Batch {
    const batch = new BatchBuilder();
    if (!this.#start.content) batch.add({ kind: "add-table" });
    for (const name of setNames) {
      if (!this.#index.hasSet(name)) batch.add({ kind: "add-set", set: sets[name] });
    }
    return chainBatch(this.#index, chains, batch);
  }

  #settings(): Batch {
    const draft = this.#draft();
    const settings = contributionOfSettings(this.#desired.context.settings);
    draft.change(emptyContribution, settings, undefined);
    this.#planned.census.replace(emptyContribution, settings, undefined);
    return draft.finish().main;
  }

  *#services(): Generator<Batch> {
    for (const group of this.#groups()) yield* group;
  }

  /** Of each group of service ports the two batches of its draft. */
  *#groups(): Generator<readonly Batch[]> {
    for (const group of this.#start.narrowed?.groups ?? this.#desired.groups) {
      const draft = this.#draft();
      for (const servicePort of group) {
        const after = this.#after(servicePort);
        draft.change(this.#before(servicePort), after, servicePort.key);
        this.#planned.census.replace(emptyContribution, after, servicePort.key);
      }
      const { main, prepare } = draft.finish();
      yield [prepare, main];
    }
  }

  /** Endpoints stay in the places that they have in the kernel. */
  #after(servicePort: ServicePort): Contribution {
    const { leftovers } = this.#desired.context.settings;
    const contribution = contributionOf(servicePort, leftovers);
    const found = new Map<readonly Endpoint[], Places>();
    for (const list of contribution.lists) {
      const places = this.#index.placesOf(list);
      if (places && !found.has(list.endpoints)) found.set(list.endpoints, places);
    }
    if (found.size === 0) return contribution;
    const { clusterEndpoints, localEndpoints } = servicePort;
    const placed = inPlaces(servicePort, {
      clusterEndpoints: found.get(clusterEndpoints) ?? [],
      localEndpoints: found.get(localEndpoints) ?? [],
    });
    if (placed === servicePort) return contribution;
    this.placed.set(servicePort.key, placed);
    return contributionOf(placed, leftovers);
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
    for (const set of this.#index.wantedSets().toReversed()) {
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

  /** Somebody sent the table to sleep. */
  #awakening(): Batch {
    const batch = new BatchBuilder();
    batch.add({ kind: "add-table" });
    return batch.build();
  }

  #retireUnknown(): void {
    for (const chain of this.#index.unknownChains()) this.ledger.retire(chain, "chain");
    for (const set of this.#index.unknownSets()) this.ledger.retire(set, "set");
  }

  #draft(): Draft {
    return new Draft({
      ledger: this.#planned,
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
  const operations: NftOperation[] = [];
  for (const { chain, state } of states) {
    if (state === "differs" || state === "other") {
      operations.push({ kind: "flush-chain", chain: chain.name });
    }
    if (state === "other") operations.push({ kind: "delete-chain", chain: chain.name });
    if (state === "other" || state === "absent") operations.push({ kind: "add-chain", chain });
  }
  for (const { rules, state } of states) {
    if (state === "same") continue;
    for (const rule of rules) operations.push({ kind: "add-rule", rule });
  }
  batch.add(operations);
  return batch.build();
}
