/**
 * Looks for what somebody else changed in the table, in steps that hold up nobody. After commits of
 * others the structure is compared at once: chains, rules, sets and, where the kernel tells, how many
 * elements each set has. What the elements say is asked for by key, a few at a time within the
 * budget, and the round through all of them goes on where it was with the next call.
 *
 * Where the kernel does not count, an element too many is found only when the whole is compared.
 */
import type { Clock } from "../../base/clock.ts";
import type { ForeignCommits } from "../../kernel/nf_tables/foreign_commits.ts";
import type { Nftables } from "../../kernel/nftables/nftables.ts";
import type { NftElement, NftTable } from "../../kernel/nftables/operations.ts";
import type { ServicePort, ServicePortKey } from "../../snapshot/snapshot.ts";
import { type Applied, asWritten } from "./applied.ts";
import {
  type Contribution,
  contributionOf,
  contributionOfSettings,
  elementsOfList,
} from "./contribution.ts";
import type { LookBudget } from "./look_budget.ts";
import type { SetName } from "./sets.ts";
import { definitionOf } from "./shards.ts";
import { areCountsRight, chainsOf, isStructureRight, namesOfChains } from "./structure.ts";
import { comparableSets, readStructure, type TableStructure } from "./table_reading.ts";

/** So many elements are asked for in one step: a few milliseconds. */
const elementsPerStep = 500;
/** Reading a structure with thousands of chains takes long: this share of the time at most … */
const structureShare = 1 / 20;
/** … but it is read at least so often, since repairs are promised within seconds. */
const longestStructureIntervalMs = 2_500;

/** What a look works with. */
export interface TableLookOptions {
  readonly nftables: Nftables;
  readonly table: NftTable;
  readonly foreign: ForeignCommits;
  readonly budget: LookBudget;
  readonly clock: Clock;
}

/** A service port whose elements are being looked at. */
interface Current {
  readonly servicePort: ServicePort | undefined;
  readonly elements: Iterator<OwnElement>;
}

type OwnElement = readonly [set: SetName, element: NftElement];

/** A round through all elements. */
interface Round {
  readonly services: ReadonlyMap<ServicePortKey, ServicePort>;
  readonly keys: Iterator<ServicePortKey>;
  /** Where it ends well, the table is known to be right as of this generation. */
  readonly generation: number;
  current: Current;
}

/** Remembers between two calls how far it came. */
export class TableLook {
  readonly #options: TableLookOptions;
  #round: Round | undefined;
  /** The generation at which the structure was right. */
  #structureAt: number | undefined;
  /** The generation from which the last round went all the way. */
  #roundAt: number | undefined;
  #nextStructure = -Infinity;

  constructor(options: TableLookOptions) {
    this.#options = options;
  }

  /**
   * Whether a difference was found. Nothing may be written meanwhile. Ends early when the signal
   * aborts or the budget is spent; without a difference then, more may be to look at.
   */
  async isDifferent(applied: Applied, signal: AbortSignal): Promise<boolean> {
    if (await this.#isStructureDifferent(applied)) return true;
    if (this.#round?.services !== applied.services) this.#round = this.#newRound(applied);
    while (this.#round && this.#options.budget.isLeft) {
      if (await this.#options.budget.spend(() => this.#step(applied))) return true;
      if (signal.aborted) return false;
    }
    return false;
  }

  async #isStructureDifferent(applied: Applied): Promise<boolean> {
    const { clock, foreign, nftables, table } = this.#options;
    if (this.#structureAt !== undefined && !await foreign.isMovedSince(this.#structureAt)) {
      return false;
    }
    const started = clock.monotonic();
    if (started < this.#nextStructure) return false;
    const generation = await foreign.generation();
    const needed = chainsOf(applied);
    const structure = await readStructure(nftables, table, namesOfChains(applied, needed));
    const isDifferent = !structure || !isStructureRight(structure, applied, needed) ||
      !areCountsRight(structure, applied.ledger) ||
      await this.#hasCatchAll(structure);
    const took = clock.monotonic() - started;
    this.#nextStructure = started + Math.min(took / structureShare, longestStructureIntervalMs);
    this.#structureAt = isDifferent ? undefined : generation;
    return isDifferent;
  }

  /** The kernel does not count it, and it answers for whatever is not there. */
  async #hasCatchAll(structure: TableStructure): Promise<boolean> {
    const { nftables, table } = this.#options;
    const found = await Promise.all(
      comparableSets(structure).map((set) => nftables.hasCatchAll(table, definitionOf(set))),
    );
    return found.includes(true);
  }

  #newRound({ context, services }: Applied): Round | undefined {
    if (this.#structureAt === undefined || this.#structureAt === this.#roundAt) return undefined;
    return {
      services,
      keys: services.keys(),
      generation: this.#structureAt,
      current: {
        servicePort: undefined,
        elements: elementsIn(contributionOfSettings(context.settings)),
      },
    };
  }

  /** Asks for a few elements; whether one is not as it should be. */
  async #step(applied: Applied): Promise<boolean> {
    const { foreign, nftables, table } = this.#options;
    const elements = this.#take(applied);
    if (elements.size === 0) {
      this.#roundAt = this.#round?.generation;
      if (this.#roundAt !== undefined) foreign.agree(this.#roundAt);
      this.#round = undefined;
      return false;
    }
    const held = await Promise.all(
      [...elements].map(([set, list]) => nftables.holdsElements(table, definitionOf(set), list)),
    );
    return held.includes(false);
  }

  /** The next elements of the round; none when it is over. */
  #take(applied: Applied): ReadonlyMap<SetName, readonly NftElement[]> {
    const taken = new Map<SetName, Map<string, NftElement>>();
    const round = this.#round;
    for (let room = elementsPerStep; round && room > 0;) {
      const next = this.#isCurrent(round, applied) ? round.current.elements.next() : undefined;
      if (next && !next.done) {
        const [set, element] = next.value;
        let list = taken.get(set);
        if (!list) taken.set(set, list = new Map());
        list.set(JSON.stringify(element.key), element);
        room--;
        continue;
      }
      const { done, value: key } = round.keys.next();
      if (done) break;
      round.current = currentOf(applied, key);
    }
    return new Map([...taken].map(([set, list]) => [set, [...list.values()]]));
  }

  /** One that was written since it was begun is right by that. */
  #isCurrent({ current: { servicePort } }: Round, applied: Applied): boolean {
    return servicePort === undefined || asWritten(applied, servicePort.key) === servicePort;
  }
}

function currentOf(applied: Applied, key: ServicePortKey): Current {
  const servicePort = asWritten(applied, key);
  const { leftovers } = applied.context.settings;
  const elements = servicePort ? elementsIn(contributionOf(servicePort, leftovers)) : noElements();
  return { servicePort, elements };
}

function* elementsIn({ elements, lists }: Contribution): Generator<OwnElement> {
  for (const [set, own] of elements) for (const element of own) yield [set, element];
  for (const list of lists) {
    for (const element of elementsOfList(list)) yield [list.set, element];
  }
}

function* noElements(): Generator<OwnElement> {}
