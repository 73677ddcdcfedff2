/**
 * Finds edits of others in nft. As long as our own commits explain how the kernel's state moved, nobody else
 * can have changed anything, and there is nothing to read. Otherwise the kernel told which chains others
 * touched, and only those are read. Where it could not tell, everything is looked at: chains that look
 * changed at once, all others in rounds. All of it takes a small share of the time, however busy others are.
 */
import type { XtChange } from "../../kernel/xtables/rules.ts";
import { jumpOf } from "../../kernel/xtables/rules.ts";
import type {
  XtChain,
  XtReading,
  XtReceipt,
  XtRules,
  XtStamp,
} from "../../kernel/xtables/xtables.ts";
import type { Applied } from "./applied.ts";
import { type EditWatch, readingOver, type WatchOptions } from "./edit_watch.ts";
import { type Followed, ForeignTouches } from "./foreign_touches.ts";
import { areRulesDifferentIn, isDifferentIn } from "./look.ts";
import { isOwnChain } from "./names.ts";
import { Rounds } from "./rounds.ts";
import { ownTables } from "./rules/static_chains.ts";
import { nameOf } from "./shared_chains.ts";
import { type Pace, Turns } from "./turns.ts";

/**
 * A foreign edit is looked for at least this often while others keep writing. Whoever asks does so
 * every two seconds, then reads and writes: all of it together has to fit into five.
 */
const soon: Pace = { share: 1 / 20, longestMs: 2_500 };
/** One of others' chains came or went, as CNI plugins have it: no rule of ours can be missing. */
const atLeisure: Pace = { share: 1 / 50 };

export class Watch implements EditWatch {
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
  readonly #fingerprints = new Map<string, XtChain["fingerprint"]>();
  /** What the kernel said of all fingerprints together when they were right; undefined: unknown. */
  #digest: number | undefined;
  readonly #rounds: Rounds;
  readonly #turns: Turns;
  readonly #listTurns: Turns;
  #listIsDue: Pace | undefined;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#touches = new ForeignTouches(options);
    this.#turns = new Turns(options.clock);
    this.#listTurns = new Turns(options.clock);
    this.#rounds = new Rounds(options);
  }

  async read(): Promise<{ readonly reading: XtReading; readonly stamp: XtStamp }> {
    const { family, xtables } = this.#options;
    const stamp = await xtables.stamp(family);
    this.#isSure &&= await this.#follow(stamp) === "reached";
    return { stamp, reading: await xtables.read(family, ownTables) };
  }

  agree(stamp: XtStamp, chains: readonly XtChain[]): void {
    this.#rounds.agree();
    this.#trusted = stamp;
    this.#takeFingerprints(chains);
  }

  settled(): void {
    this.#isSure = true;
    this.#touches.clear();
    this.#listIsDue = undefined;
  }

  over(reading: XtReading, isSame: (chain: string) => boolean): XtReading {
    if (!this.#isSure) return reading;
    const touched = this.#touches.chains;
    return readingOver(reading, (chain) => isSame(chain) && !touched.has(nameOf("nat", chain)));
  }

  #takeFingerprints(chains: readonly XtChain[]): void {
    this.#digest = undefined;
    this.#fingerprints.clear();
    for (const chain of chains) {
      if (isOfService(chain)) continue;
      this.#fingerprints.set(nameOf(chain.table, chain.name), chain.fingerprint);
    }
  }

  committed(receipt: XtReceipt): void {
    this.#digest = undefined;
    // One between whose states others wrote is looked at like theirs.
    this.#options.ownStamps.note(receipt);
  }

  changing(changes: readonly XtChange[]): void {
    for (const change of changes) {
      if (change.kind === "add-table") continue;
      const name = nameOf(change.table, change.chain);
      this.#fingerprints.delete(name);
      const jump = "rule" in change ? jumpOf(change.rule) : undefined;
      if (jump !== undefined) this.#fingerprints.delete(nameOf(change.table, jump));
    }
  }

  forget(): void {
    this.#trusted = undefined;
    this.#digest = undefined;
    this.#fingerprints.clear();
    this.#rounds.agree();
  }

  async drifted(applied: Applied, signal: AbortSignal): Promise<boolean> {
    const { family, xtables } = this.#options;
    const stamp = await xtables.stamp(family);
    const live = xtables.live?.(family) ?? await xtables.read(family, ownTables);
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
}

/** A chain that a service port has of its own. */
function isOfService({ name, table }: XtChain): boolean {
  return table === "nat" && isOwnChain(name);
}
