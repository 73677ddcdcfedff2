/**
 * From whatever the kernel holds to everything that shall be there. Own chains are compared in
 * groups, so that their rules need not all be in memory at once: what is new goes out as it is found,
 * since nothing leads to it yet; what packets meet comes last, in one batch.
 */
import { TurnsNowAndThen } from "../../base/event_loop.ts";
import { setOf } from "../../base/list_of.ts";
import type { XtRule } from "../../kernel/xtables/rules.ts";
import type { XtReading } from "../../kernel/xtables/xtables.ts";
import type { ServicePort, ServicePortKey } from "../../snapshot/snapshot.ts";
import type { Batch } from "./batch.ts";
import { contributionOf, countRules, type RuleCounts } from "./contribution.ts";
import { Draft, type OwnedRule } from "./draft.ts";
import { isOwnChain } from "./names.ts";
import type { RuleContext } from "./rules/context.ts";
import { bareChains, jumps, ownTables, sharedChains, staticChains } from "./rules/static_chains.ts";
import { lastRulesOf, missingJumps, nameOf, sharedDifference } from "./shared_chains.ts";

/** As many own chains are compared in one go as the kernel is asked for at once: their rules wait for it. */
const chainsPerGroup = 200;

/** What the tables shall hold. */
export interface Desired {
  readonly context: RuleContext;
  readonly services: Iterable<ServicePort>;
}

/** How a plan is cut into batches. */
export interface FullPlanOptions {
  /** New chains go out once they are so many changes; infinite for a backend that writes whole tables. */
  readonly leavesPerBatch: number;
  /** Stale chains that are only emptied, since others' rules lead to them; none when absent. */
  readonly kept?: ReadonlySet<string>;
}

export class FullPlan {
  readonly #desired: Desired;
  readonly #reading: XtReading;
  readonly #options: FullPlanOptions;
  readonly #draft = new Draft();
  /** Names of chains, by table. */
  readonly #there = new Map<string, Set<string>>();
  readonly #shared = new Map<string, OwnedRule[]>();
  /** Own chains that are there, to be compared. */
  readonly #compared = new Map<string, readonly XtRule[]>();
  /** The service port of each chain that one has of its own. */
  readonly owners = new Map<string, ServicePortKey>();
  /** Rules of each service port. */
  readonly counts = new Map<ServicePortKey, RuleCounts>();

  constructor(desired: Desired, reading: XtReading, options: FullPlanOptions) {
    this.#desired = desired;
    this.#reading = reading;
    this.#options = options;
    for (const { name, table } of reading.chains) setOf(this.#there, table).add(name);
    for (const { chain, table } of sharedChains) this.#shared.set(nameOf(table, chain), []);
  }

  /** The batches in their order; an empty one at most as the last. */
  async *batches(): AsyncGenerator<Batch> {
    this.#addWhatIsBare();
    await this.#compareStatic();
    const turns = new TurnsNowAndThen();
    for (const servicePort of this.#desired.services) {
      this.#add(servicePort);
      if (this.#compared.size >= chainsPerGroup) await this.#compareOwnChains();
      if (this.#draft.leafCount >= this.#options.leavesPerBatch) yield this.#draft.takeLeaves();
      await turns.take();
    }
    await this.#compareOwnChains();
    await this.#compareSharedChains();
    await this.#compareJumps();
    await this.#removeStaleChains();
    const isLarge = this.#draft.leafCount >= this.#options.leavesPerBatch;
    if (isLarge) yield this.#draft.takeLeaves();
    yield this.#draft.takeAll();
  }

  #has(table: string, chain: string): boolean {
    return this.#there.get(table)?.has(chain) ?? false;
  }

  #addWhatIsBare(): void {
    const sources = new Set(jumps.map(({ chain, table }) => nameOf(table, chain)));
    for (const table of ownTables) {
      const needed = jumps.filter((jump) => jump.table === table).map(({ chain }) => chain);
      const isTableThere = this.#there.has(table);
      const isComplete = needed.every((chain) => this.#has(table, chain));
      if (!isTableThere || !isComplete) this.#draft.addTable(table, [...new Set(needed)]);
    }
    for (const { chain, table } of [...sharedChains, ...bareChains]) {
      const isOfBuiltIn = sources.has(nameOf(table, chain));
      if (!isOfBuiltIn && !this.#has(table, chain)) this.#draft.addChain({ table, chain }, []);
    }
  }

  async #compareStatic(): Promise<void> {
    const bare = new Set(bareChains.map(({ chain, table }) => nameOf(table, chain)));
    for (const { chain, rules, table } of staticChains(this.#desired.context)) {
      const place = { table, chain };
      if (this.#has(table, chain)) {
        const differing = await this.#reading.differing(table, new Map([[chain, rules]]));
        if (differing.length > 0) this.#draft.rewriteChain(place, rules);
      } else if (bare.has(nameOf(table, chain))) {
        this.#draft.fill(place, rules.map((rule) => ({ rule })));
      } else {
        this.#draft.addChain(place, rules);
      }
    }
  }

  /** What is new of a service port; what is there is compared later. */
  #add(servicePort: ServicePort): void {
    const { key } = servicePort;
    const contribution = contributionOf(servicePort, this.#desired.context);
    this.counts.set(key, countRules(contribution));
    for (const [chain, rules] of contribution.own) {
      this.owners.set(chain, key);
      if (this.#has("nat", chain)) this.#compared.set(chain, rules);
      else this.#draft.addChain({ table: "nat", chain }, rules, key);
    }
    for (const { chain, rule, table } of contribution.shared) {
      this.#shared.get(nameOf(table, chain))?.push({ rule, owner: key });
    }
  }

  async #compareOwnChains(): Promise<void> {
    const compared = this.#compared;
    if (compared.size === 0) return;
    for (const chain of await this.#reading.differing("nat", compared)) {
      const rules = compared.get(chain) ?? [];
      this.#draft.rewriteChain({ table: "nat", chain }, rules, this.owners.get(chain));
    }
    compared.clear();
  }

  async #compareSharedChains(): Promise<void> {
    const { context } = this.#desired;
    for (const place of sharedChains) {
      const wanted = this.#shared.get(nameOf(place.table, place.chain)) ?? [];
      const difference = await sharedDifference(this.#reading, place, { context, wanted });
      if (difference.kind === "edit") {
        for (const rule of difference.extra) this.#draft.removeRule(place, rule);
        this.#draft.insert(place, difference.missing);
      } else if (difference.kind === "rewrite") {
        if (!difference.isEmpty) this.#draft.rewriteChain(place, []);
        const last = lastRulesOf(place, context).map((rule) => ({ rule }));
        this.#draft.fill(place, [...wanted, ...last]);
      }
    }
  }

  async #removeStaleChains(): Promise<void> {
    const kept = new Map<string, readonly XtRule[]>();
    for (const { name, table } of this.#reading.chains) {
      if (table !== "nat" || !isOwnChain(name) || this.owners.has(name)) continue;
      if (this.#options.kept?.has(name)) kept.set(name, []);
      else this.#draft.removeChain({ table, chain: name });
    }
    if (kept.size === 0) return;
    for (const chain of await this.#reading.differing("nat", kept)) {
      this.#draft.rewriteChain({ table: "nat", chain }, []);
    }
  }

  /** What is missing goes on top; what is there stays where it is. */
  async #compareJumps(): Promise<void> {
    for (const jump of await missingJumps(this.#reading, this.#desired)) {
      this.#draft.insert(jump, [{ rule: jump.rule }]);
    }
  }
}

/** Equal service ports are written in the same order each time. */
export function sortedByKey(services: Iterable<ServicePort>): readonly ServicePort[] {
  return [...services].sort((a, b) => a.key < b.key ? -1 : 1);
}

/** The items in groups of at most that size. */
export function* groupsOf<T>(items: Iterable<T>, size: number): Generator<readonly T[]> {
  let group: T[] = [];
  for (const item of items) {
    group.push(item);
    if (group.length < size) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}
