/**
 * Finds edits of others. As long as our own commits explain how the kernel's state moved, nobody else
 * can have changed anything, and there is nothing to read. Otherwise the kernel told which chains others
 * touched, and only those are read. What it could not tell, and where it tells nothing, everything is
 * looked at: chains that look changed at once, all others in rounds, or where only whole tables can be
 * read, as a whole. All of it takes a small share of the time, however busy others are.
 */
import type { Clock } from "../../base/clock.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import type { XtChange } from "../../kernel/xtables/rules.ts";
import { jumpOf } from "../../kernel/xtables/rules.ts";
import type {
  Xtables,
  XtChain,
  XtReading,
  XtReceipt,
  XtRules,
  XtStamp,
} from "../../kernel/xtables/xtables.ts";
import type { Applied } from "./applied.ts";
import { type Followed, ForeignTouches } from "./foreign_touches.ts";
import { areRulesDifferentIn, isDifferentAnywhere, isDifferentIn } from "./look.ts";
import { isOwnChain } from "./names.ts";
import type { OwnStamps } from "./own_stamps.ts";
import { Rounds } from "./rounds.ts";
import { ownTables } from "./rules/static_chains.ts";
import { nameOf } from "./shared_chains.ts";
import { type Pace, Turns } from "./turns.ts";

/**
 * A foreign edit is looked for at least this often while others keep writing. Whoever asks does so
 * every two seconds, then reads and writes: all of it together has to fit into five.
 */
const soon: Pace = { share: 1 / 20, longestMs: 2_500 };
/** Only whole tables can be read: that takes what it takes. */
const wholeTables: Pace = { share: 1 / 20 };
/** No size tells of a rule in the place of another: so often all tables are read unasked, more rarely where that takes long. */
const unaskedMs = 45_000;
const unaskedShare = 1 / 50;
/** One of others' chains came or went, as CNI plugins have it: no rule of ours can be missing. */
const atLeisure: Pace = { share: 1 / 50 };

/** What the watch works with. */
export interface WatchOptions {
  readonly family: IpFamily;
  readonly xtables: Xtables;
  readonly clock: Clock;
  /** Shared by all writers of the program. */
  readonly ownStamps: OwnStamps;
}

export class Watch {
  readonly #options: WatchOptions;
  /** What happened until this state is right, or is among what is to be looked at. */
  #trusted: XtStamp | undefined;
  readonly #touches: ForeignTouches;
  /** Where the kernel was still to tell of a commit when somebody looked. */
  #awaited: XtStamp | undefined;
  /** All other chains that were right are so still: what others touched is known. */
  #isSure = false;
  /**
   * Fingerprints of chains that were right, by name; one that we changed since is not among them, nor is one
   * that a service port has of its own, since they are many: rounds find what happens to those.
   */
  readonly #fingerprints = new Map<string, string>();
  /** What the kernel said of all fingerprints together when they were right; undefined: unknown. */
  #digest: number | undefined;
  /** Undefined where only whole tables can be read. */
  readonly #rounds: Rounds | undefined;
  readonly #turns: Turns;
  readonly #listTurns: Turns;
  #listIsDue: Pace | undefined;
  #wholeIsDue = false;
  /** When whole tables were read last, and how long a look at them took. */
  #wholeAt = -Infinity;
  #wholeTookMs = 0;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#touches = new ForeignTouches(options);
    this.#turns = new Turns(options.clock);
    this.#listTurns = new Turns(options.clock);
    if (options.xtables.live) this.#rounds = new Rounds(options);
  }

  /** Reads the tables; `agree` takes what it gives once all of it turns out to be right. */
  async read(): Promise<{ readonly reading: XtReading; readonly stamp: XtStamp }> {
    const { family, xtables } = this.#options;
    const stamp = await xtables.stamp(family);
    this.#isSure &&= await this.#follow(stamp) === "reached";
    return { stamp, reading: await xtables.read(family, ownTables) };
  }

  /** What these chains held at that state is right, or is about to be made right by our own commits. */
  agree(stamp: XtStamp, chains: readonly XtChain[]): void {
    this.#rounds?.agree();
    this.#agree(stamp, chains);
  }

  /** All that was to be made right has been. */
  settled(): void {
    this.#isSure = this.#rounds !== undefined;
    this.#touches.clear();
    this.#listIsDue = undefined;
  }

  /**
   * The reading, which does not read own chains again that hold what is known to be right; `isSame`
   * says of which the same rules are wanted as then.
   */
  over(reading: XtReading, isSame: (chain: string) => boolean): XtReading {
    if (!this.#isSure) return reading;
    const isRight = (chain: string) =>
      isSame(chain) && !this.#touches.chains.has(nameOf("nat", chain));
    const differing: XtReading["differing"] = async (table, wanted) => {
      if (table !== "nat") return await reading.differing(table, wanted);
      const rest = new Map([...wanted].filter(([chain]) => !isRight(chain)));
      return rest.size === 0 ? [] : await reading.differing(table, rest);
    };
    return {
      chains: reading.chains,
      rules: (table, chains) => reading.rules(table, chains),
      differing,
    };
  }

  #agree(stamp: XtStamp, chains: readonly XtChain[]): void {
    this.#trusted = stamp;
    this.#wholeAt = this.#options.clock.monotonic();
    this.#wholeIsDue = false;
    this.#takeFingerprints(chains);
  }

  #takeFingerprints(chains: readonly XtChain[]): void {
    this.#digest = undefined;
    this.#fingerprints.clear();
    for (const chain of chains) {
      if (chain.fingerprint === undefined || isOfService(chain)) continue;
      this.#fingerprints.set(nameOf(chain.table, chain.name), chain.fingerprint);
    }
  }

  /** Takes note of a commit of ours. */
  committed(receipt: XtReceipt): void {
    const { ownStamps, xtables } = this.#options;
    this.#digest = undefined;
    // One of nft between whose states others wrote is looked at like theirs.
    if (xtables.backend === "nft") ownStamps.note(receipt);
    // Stamps of the older engine are the family's own, and come back to where they were.
    else this.#trusted = this.#trusted === receipt.before ? receipt.after : undefined;
  }

  /** Takes note of what we change: also the chains that rules lead to are counted differently then. */
  changing(changes: readonly XtChange[]): void {
    for (const change of changes) {
      if (change.kind === "add-table") continue;
      const name = nameOf(change.table, change.chain);
      this.#fingerprints.delete(name);
      const jump = "rule" in change ? jumpOf(change.rule) : undefined;
      if (jump !== undefined) this.#fingerprints.delete(nameOf(change.table, jump));
    }
  }

  /** Nothing is known any more. */
  forget(): void {
    this.#trusted = undefined;
    this.#digest = undefined;
    this.#fingerprints.clear();
    this.#rounds?.agree();
  }

  /** Whether anything of ours is not as it was written. */
  async drifted(applied: Applied, signal: AbortSignal): Promise<boolean> {
    const { family, xtables } = this.#options;
    const stamp = await xtables.stamp(family);
    const live = xtables.live?.(family);
    if (!live || !this.#rounds) return await this.#isAnythingDifferent(stamp, applied);
    if (await this.#follow(stamp) === "lost") {
      this.#isSure = false;
      this.#rounds.lost();
      this.#listIsDue = soon;
    }
    if (this.#touches.listed === "ours") this.#listIsDue = soon;
    else if (this.#touches.listed === "others") this.#listIsDue ??= atLeisure;
    this.#touches.listed = "none";
    signal.throwIfAborted();
    const isDifferent = await this.#areTouchedDifferent(applied, live) ||
      await this.#isListDifferent(applied) ||
      await this.#rounds.isDifferent(applied, { live, signal });
    if (this.#rounds.takeFinished()) this.#isSure = true;
    return isDifferent;
  }

  /** Takes what was told until this state. What was lost is not asked for again. */
  async #follow(stamp: XtStamp): Promise<Followed["end"]> {
    const followed: Followed = this.#trusted === undefined
      ? { end: "lost", latest: stamp }
      : await this.#touches.follow(this.#trusted, stamp);
    // It tells within a commit, so what was late at the last look as well will not come.
    const isOverdue = followed.end === "later" && followed.latest === this.#awaited;
    const end = isOverdue ? "lost" : followed.end;
    this.#awaited = end === "later" ? followed.latest : undefined;
    this.#trusted = end === "lost" ? stamp : followed.latest;
    return end;
  }

  async #areTouchedDifferent(applied: Applied, live: XtRules): Promise<boolean> {
    const { chains } = this.#touches;
    return chains.size > 0 && await this.#turns.take(soon, async () => {
      if (await areRulesDifferentIn(chains, { applied, reading: live })) return true;
      chains.clear();
      return false;
    });
  }

  /** What is listed alone, and what that points to. */
  async #isListDifferent(applied: Applied): Promise<boolean> {
    const due = this.#listIsDue;
    return due !== undefined && await this.#listTurns.take(due, async () => {
      const { family, xtables } = this.#options;
      // Before the reading: whatever changes between the two shows as another digest the next time.
      const digest = await xtables.digest?.(family, ownTables, this.#digest);
      if (digest === undefined || digest !== this.#digest) {
        const reading = await xtables.read(family, ownTables);
        const suspects = this.#suspects(reading.chains);
        if (await isDifferentIn(suspects, { applied, reading })) return true;
        this.#takeFingerprints(reading.chains);
        this.#digest = digest;
      }
      this.#listIsDue = undefined;
      return false;
    });
  }

  #suspects(chains: readonly XtChain[]): ReadonlySet<string> {
    const suspects = new Set<string>();
    for (const chain of chains) {
      if (isOfService(chain)) continue;
      const full = nameOf(chain.table, chain.name);
      if (this.#fingerprints.get(full) !== chain.fingerprint) suspects.add(full);
    }
    return suspects;
  }

  /** Where only whole tables can be read. */
  async #isAnythingDifferent(stamp: XtStamp, applied: Applied): Promise<boolean> {
    const started = this.#options.clock.monotonic();
    const pauseMs = Math.max(unaskedMs, this.#wholeTookMs / unaskedShare);
    this.#wholeIsDue ||= stamp !== this.#trusted || started >= this.#wholeAt + pauseMs;
    return this.#wholeIsDue && await this.#turns.take(wholeTables, async () => {
      const read = await this.read();
      if (await isDifferentAnywhere({ applied, reading: read.reading })) return true;
      this.#agree(read.stamp, read.reading.chains);
      this.#wholeTookMs = this.#wholeAt - started;
      return false;
    });
  }
}

/** A chain that a service port has of its own. */
function isOfService({ name, table }: XtChain): boolean {
  return table === "nat" && isOwnChain(name);
}
