/**
 * Finds edits of others where only whole tables can be read. The kernel tells the sizes of tables alone, so those
 * of a size that was never found right are read, and all of them now and then, since a rule in the place of
 * another changes no size. A reading has a fingerprint of all that each chain says: rules are compared of those chains alone whose
 * fingerprint is not the one of when they were right.
 */
import type { XtChange, XtTable } from "../../kernel/xtables/rules.ts";
import type { XtChain, XtReading, XtReceipt, XtStamp } from "../../kernel/xtables/xtables.ts";
import type { Applied } from "./applied.ts";
import { type EditWatch, type Read, readingOver, type WatchOptions } from "./edit_watch.ts";
import { groupsOf } from "./full_plan.ts";
import { areRulesDifferentIn, type Compared, hasOurChains } from "./look.ts";
import { ownTables } from "./rules/static_chains.ts";
import { RightSizes } from "./right_sizes.ts";
import { nameOf } from "./shared_chains.ts";
import { type Pace, Turns } from "./turns.ts";

/**
 * Tables of another size. To read a large one takes the kernel a quarter of a second: after a rest that happens
 * some times in a row, so that a neighbour's edit puts off none of what is ours.
 */
const soon: Pace = { share: 1 / 30, savedMs: 1_000 };
/** So often all tables are read unasked: what is found then is put right within a minute after it was done. */
const unaskedMs = 45_000;
/** All tables, as nobody is known to have changed them; what somebody is known to have changed does not wait for it. */
const atLeisure: Pace = { share: 1 / 60, longestMs: unaskedMs };

/** Chains that are compared at once; in between, whoever wants to write has his turn. */
const chainsPerQuestion = 400;

/**
 * What was read ahead counts for so long: somebody may have put a rule in the place of another meanwhile, which is found
 * when all tables are read unasked.
 */
const aheadMs = 5_000;

/** Fingerprints of chains that were right, by their tables and names. */
type Prints = Map<XtTable, Map<string, XtChain["fingerprint"]>>;

export class TableWatch implements EditWatch {
  readonly #options: WatchOptions;
  readonly #turns: Turns;
  #leisureTurns: Turns;
  /** The latest that is known. */
  #sizes: XtStamp | undefined;
  readonly #rightSizes: RightSizes;
  /**
   * We wrote: whoever wrote at the same moment is not told apart by the sizes that tables have now. Nor is
   * who moved one to a size at which it was right.
   */
  #isUnsure = false;
  #readAllAt = -Infinity;
  #right: Prints = new Map();
  /** Those of a reading all of which is about to be made right; undefined: of none. */
  #agreed: Prints | undefined;
  /** Own chains that held what is known to be right at the last reading for a comparison. */
  #unchanged: ReadonlySet<string> = new Set();
  /** What was read ahead, until it is asked for; undefined: it could not be read. */
  #ahead: Promise<Read & { readonly readAt: number } | undefined> | undefined;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#rightSizes = new RightSizes((before, after) => this.#moved(before, after));
    this.#turns = new Turns(options.clock);
    this.#leisureTurns = new Turns(options.clock);
  }

  readAhead(): void {
    const readAt = this.#options.clock.monotonic();
    // Why it cannot be read says whoever needs it.
    this.#ahead = this.#readNow().then((read) => ({ ...read, readAt }), () => undefined);
  }

  async read(): Promise<Read> {
    const read = await this.#takeAhead() ?? await this.#readNow();
    const unchanged = new Set<string>();
    if (this.#right.size > 0) {
      for (const chain of read.reading.chains) {
        if (chain.table === "nat" && this.#isRight(chain)) unchanged.add(chain.name);
      }
    }
    this.#unchanged = unchanged;
    return read;
  }

  async #readNow(): Promise<Read> {
    const { family, xtables } = this.#options;
    const stamp = await xtables.stamp(family);
    return { stamp, reading: await xtables.read(family, ownTables) };
  }

  /** Undefined where it is not as it was then. */
  async #takeAhead(): Promise<Read | undefined> {
    const { clock, family, xtables } = this.#options;
    const ahead = this.#ahead;
    this.#ahead = undefined;
    const read = await ahead;
    if (!read || clock.monotonic() - read.readAt > aheadMs) return undefined;
    return await xtables.stamp(family) === read.stamp ? read : undefined;
  }

  agree(stamp: XtStamp, chains: readonly XtChain[]): void {
    this.#sizes = stamp;
    this.#rightSizes.clear();
    this.#rightSizes.add(ownTables, stamp);
    this.#isUnsure = false;
    this.#readAllAt = this.#options.clock.monotonic();
    this.#agreed = new Map();
    take(chains, this.#agreed);
  }

  settled(): void {
    this.#right = this.#agreed ?? this.#right;
    this.#agreed = undefined;
    this.#unchanged = new Set();
    // Who changed what is ours may have gone on while it was put right.
    if (this.#isUnsure) this.#leisureTurns = new Turns(this.#options.clock);
  }

  over(reading: XtReading, isSame: (chain: string) => boolean): XtReading {
    const unchanged = this.#unchanged;
    if (unchanged.size === 0) return reading;
    return readingOver(reading, (chain) => unchanged.has(chain) && isSame(chain));
  }

  committed(receipt: XtReceipt): void {
    this.#rightSizes.committed(receipt);
    this.#sizes = receipt.after;
  }

  changing(changes: readonly XtChange[]): void {
    for (const change of changes) {
      if (change.kind === "add-table") continue;
      this.#isUnsure = true;
      this.#right.get(change.table)?.delete(change.chain);
      this.#agreed?.get(change.table)?.delete(change.chain);
    }
  }

  forget(): void {
    this.#sizes = undefined;
    this.#rightSizes.clear();
    this.#right = new Map();
    this.#agreed = undefined;
  }

  async drifted(applied: Applied, signal: AbortSignal): Promise<boolean> {
    const { clock, family, xtables } = this.#options;
    const stamp = await xtables.stamp(family);
    this.#notice(stamp);
    const look = (tables: readonly XtTable[]) => this.#look(tables, { applied, signal, stamp });
    const suspects = ownTables.filter((table) => !this.#rightSizes.has(table, stamp));
    if (suspects.length > 0 && await this.#turns.take(soon, () => look(suspects))) return true;
    const isDue = this.#isUnsure || clock.monotonic() >= this.#readAllAt + unaskedMs;
    return isDue && await this.#leisureTurns.take(atLeisure, () => look(ownTables));
  }

  /** What others moved to a size that is right is right, unless they changed what is ours by as much. */
  #notice(stamp: XtStamp): void {
    const moved = this.#sizes === undefined ? ownTables : this.#moved(this.#sizes, stamp);
    this.#isUnsure ||= moved.some((table) => this.#rightSizes.has(table, stamp));
    this.#sizes = stamp;
  }

  /** Those of our tables that do not have the same size in both states. */
  #moved(before: XtStamp, after: XtStamp): readonly XtTable[] {
    const moved = this.#options.xtables.moved?.(before, after) ?? ownTables;
    return ownTables.filter((table) => moved.includes(table));
  }

  /** Whether others changed what is ours in these tables. */
  async #look(
    tables: readonly XtTable[],
    { applied, signal, stamp }: {
      readonly applied: Applied;
      readonly signal: AbortSignal;
      /** Of before the look. */
      readonly stamp: XtStamp;
    },
  ): Promise<boolean> {
    const { clock, family, xtables } = this.#options;
    const started = clock.monotonic();
    const reading = await xtables.read(family, tables);
    const movedMeanwhile = this.#moved(stamp, await xtables.stamp(family));
    const compared = { applied, reading };
    if (!hasOurChains(compared, tables)) return true;
    for (const group of groupsOf(this.#suspects(compared), chainsPerQuestion)) {
      // What was compared need not be again.
      if (signal.aborted) return false;
      const names = new Set(group.map(({ name, table }) => nameOf(table, name)));
      if (await areRulesDifferentIn(names, compared)) return true;
      take(group, this.#right);
    }
    this.#rightSizes.add(tables.filter((table) => !movedMeanwhile.includes(table)), stamp);
    if (tables.length === ownTables.length) {
      this.#readAllAt = started;
      this.#isUnsure = false;
      // Of chains that are gone nothing is kept.
      this.#right.clear();
      take(reading.chains, this.#right);
    }
    return false;
  }

  /** Chains that do not say what they said when they were right; those of a service port stand together. */
  #suspects({ applied, reading }: Compared): readonly XtChain[] {
    const others: XtChain[] = [];
    const own = new Map<string, XtChain>();
    for (const chain of reading.chains) {
      if (this.#isRight(chain)) continue;
      if (chain.table === "nat" && applied.owners.has(chain.name)) own.set(chain.name, chain);
      else others.push(chain);
    }
    if (own.size === 0) return others;
    return [...others, ...[...applied.owners.keys()].flatMap((name) => own.get(name) ?? [])];
  }

  #isRight({ fingerprint, name, table }: XtChain): boolean {
    return this.#right.get(table)?.get(name) === fingerprint;
  }
}

function take(chains: readonly XtChain[], prints: Prints): void {
  for (const { fingerprint, name, table } of chains) {
    const there = prints.get(table);
    if (there) there.set(name, fingerprint);
    else prints.set(table, new Map([[name, fingerprint]]));
  }
}
