/**
 * Finds edits of others. As long as our own commits explain how the kernel's state moved, nobody else
 * can have changed anything, and there is nothing to read. Otherwise the chains are listed and those
 * that look changed are read; and since a replaced rule does not show so, all rules are looked at in
 * rounds, or where only whole tables can be read, as a whole from time to time. All of it takes a small
 * share of the time, however busy others are.
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
  XtStamp,
} from "../../kernel/xtables/xtables.ts";
import type { Applied } from "./applied.ts";
import { isDifferentAnywhere, isDifferentIn } from "./look.ts";
import type { OwnStamps } from "./own_stamps.ts";
import { Rounds } from "./rounds.ts";
import { ownTables } from "./rules/static_chains.ts";
import { nameOf } from "./shared_chains.ts";

/**
 * A foreign edit is looked for at least this often while others keep writing. Whoever asks does so
 * every two seconds, then reads and writes: all of it together has to fit into five.
 */
const longestLookIntervalMs = 2_500;
/** Share of the time that looking may take. */
const lookShare = 1 / 20;

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
  /** Everything was right at this state. */
  #trusted: XtStamp | undefined;
  /** Fingerprints of chains that were right, by name; one that we changed since is not among them. */
  readonly #fingerprints = new Map<string, string>();
  /** What the kernel said of all fingerprints together when they were right; undefined: unknown. */
  #digest: number | undefined;
  /** Undefined where only whole tables can be read. */
  readonly #rounds: Rounds | undefined;
  #wholeIsDue = false;
  #nextLook = -Infinity;

  constructor(options: WatchOptions) {
    this.#options = options;
    if (options.xtables.live) this.#rounds = new Rounds(options);
  }

  /** Reads the tables; `agree` takes what it gives once all of it turns out to be right. */
  async read(): Promise<{ readonly reading: XtReading; readonly stamp: XtStamp }> {
    const { family, xtables } = this.#options;
    const stamp = await xtables.stamp(family);
    return { stamp, reading: await xtables.read(family, ownTables) };
  }

  /** What these chains held at that state is right, or is about to be made right by our own commits. */
  agree(stamp: XtStamp, chains: readonly XtChain[]): void {
    this.#rounds?.agree();
    this.#agree(stamp, chains);
  }

  /**
   * The reading, which does not read own chains again that hold what is known to be right; `isSame`
   * says of which the same rules are wanted as then.
   */
  over(reading: XtReading, isSame: (chain: string) => boolean): XtReading {
    return this.#rounds?.over(reading, isSame) ?? reading;
  }

  #agree(stamp: XtStamp, chains: readonly XtChain[]): void {
    this.#trusted = stamp;
    this.#digest = undefined;
    this.#fingerprints.clear();
    for (const { fingerprint, name, table } of chains) {
      if (fingerprint !== undefined) this.#fingerprints.set(nameOf(table, name), fingerprint);
    }
  }

  /** Takes note of what we changed: also the chains that rules lead to are counted differently now. */
  committed(receipt: XtReceipt, changes: readonly XtChange[]): void {
    const { ownStamps, xtables } = this.#options;
    this.#digest = undefined;
    if (!receipt.isOwn) this.#trusted = undefined;
    // Stamps of the older engine are the family's own, and come back to where they were.
    else if (xtables.backend === "nft") ownStamps.note(receipt);
    else this.#trusted = this.#trusted === receipt.before ? receipt.after : undefined;
    for (const change of changes) {
      if (change.kind === "add-table") continue;
      const name = nameOf(change.table, change.chain);
      this.#fingerprints.delete(name);
      this.#rounds?.changed(name);
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
    const isMoved = await this.#isMoved();
    this.#wholeIsDue ||= isMoved;
    signal.throwIfAborted();
    const rounds = this.#rounds;
    if (!rounds) return this.#wholeIsDue && await this.#timed(() => this.#lookAtAll(applied));
    if (isMoved) rounds.moved();
    if (isMoved && await this.#timed(() => this.#look(applied))) return true;
    const isUnmoved = async () => !await this.#isMoved();
    return await rounds.isDifferent(applied, { signal, isUnmoved });
  }

  /** Looks, if it is time. */
  async #timed(look: () => Promise<boolean>): Promise<boolean> {
    const { clock, xtables } = this.#options;
    const started = clock.monotonic();
    if (started < this.#nextLook) return false;
    const isDifferent = await look();
    // Who changed what is ours may go on: a firewall that starts anew takes one table after the other.
    const took = isDifferent ? 0 : clock.monotonic() - started;
    const longest = xtables.backend === "nft" ? longestLookIntervalMs : Infinity;
    this.#nextLook = started + Math.min(took / lookShare, longest);
    return isDifferent;
  }

  async #lookAtAll(applied: Applied): Promise<boolean> {
    const { reading, stamp } = await this.read();
    if (await isDifferentAnywhere({ applied, reading })) return true;
    this.#agree(stamp, reading.chains);
    this.#wholeIsDue = false;
    return false;
  }

  /** What is listed alone, and what that points to. */
  async #look(applied: Applied): Promise<boolean> {
    const { family, xtables } = this.#options;
    const earlier = await xtables.stamp(family);
    // Before the reading: whatever changes between the two shows as another digest the next time.
    const digest = await xtables.digest?.(family, ownTables, this.#digest);
    if (digest !== undefined && digest === this.#digest) {
      this.#trusted = earlier;
      return false;
    }
    const { reading, stamp } = await this.read();
    if (await isDifferentIn(this.#suspects(reading.chains), { applied, reading })) return true;
    this.#agree(stamp, reading.chains);
    this.#digest = digest;
    return false;
  }

  async #isMoved(): Promise<boolean> {
    const { family, ownStamps, xtables } = this.#options;
    const stamp = await xtables.stamp(family);
    if (this.#trusted === undefined) return true;
    this.#trusted = ownStamps.follow(this.#trusted);
    return stamp !== this.#trusted;
  }

  #suspects(chains: readonly XtChain[]): ReadonlySet<string> {
    const suspects = new Set<string>();
    for (const { fingerprint, name, table } of chains) {
      const full = nameOf(table, name);
      if (this.#fingerprints.get(full) !== fingerprint) suspects.add(full);
    }
    return suspects;
  }
}
