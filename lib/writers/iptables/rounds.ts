/**
 * Rules that took the place of others show in no count of the kernel: only their chains' rules tell. So
 * whenever others wrote, the rules of all chains are looked at, a few at a time, so that no change waits
 * long and a node with many Services spends little. What a chain held when it was right is known by a
 * number, which is asked for while nobody else writes; so rules are hardly ever read.
 */
import type { Clock } from "../../base/clock.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import type { XtTable } from "../../kernel/xtables/rules.ts";
import type { Xtables, XtLiveRules, XtReading } from "../../kernel/xtables/xtables.ts";
import type { Applied } from "./applied.ts";
import { areRulesDifferentIn } from "./look.ts";
import { jumps, sharedChains, staticChains } from "./rules/static_chains.ts";
import { nameOf, placeOf } from "./shared_chains.ts";

/** Share of the time that a round takes, unless it would last too long then. */
const roundShare = 1 / 50;
const slicesPerRound = 12;
/** Between two slices: a replaced rule is found within a minute, also where looking takes long. */
const longestPauseMs = 4_000;
/** Chains that are asked for at once; in between, whoever wants to write has his turn. */
const chainsPerQuestion = 200;

/** What rounds work with. */
export interface RoundsOptions {
  readonly family: IpFamily;
  readonly xtables: Xtables;
  readonly clock: Clock;
}

/** How a slice of a round is looked at. */
export interface SliceOptions {
  readonly signal: AbortSignal;
  /** Whether nobody but us wrote until now since everything was right. */
  readonly isUnmoved: () => Promise<boolean>;
}

export class Rounds {
  readonly #options: RoundsOptions;
  /** What chains' rules are known by that were right; by names with tables. */
  readonly #right = new Map<string, number>();
  /** Chains that are still to be looked at, and what for. */
  #left: string[] = [];
  #kind: "compare" | "learn" = "learn";
  #perSlice = 0;
  #isDue = false;
  /** All chains that there were have been learnt, or are about to be. */
  #isLearnt = false;
  #next = -Infinity;

  constructor(options: RoundsOptions) {
    this.#options = options;
  }

  /** Others wrote: everything is looked at from here on. */
  moved(): void {
    this.#isDue = true;
  }

  /** The chain's rules are others now, and right. */
  changed(name: string): void {
    this.#right.delete(name);
    this.#isLearnt = false;
  }

  /**
   * All that there is is right, or is about to be. What is known of chains stays true: whatever is
   * wanted otherwise since is written, and told by `changed`.
   */
  agree(): void {
    this.#left = [];
    this.#isDue = false;
    this.#isLearnt = false;
  }

  /** See `Watch.over`. */
  over(reading: XtReading, isSame: (chain: string) => boolean): XtReading {
    const { family, xtables } = this.#options;
    const live = xtables.live?.(family);
    if (!live || this.#right.size === 0) return reading;
    const differing: XtReading["differing"] = async (table, wanted) => {
      const known = table === "nat" ? [...wanted.keys()].filter(isSame) : [];
      const unknown = known.length === 0
        ? new Map<string, number>()
        : await this.#unknownOf(known.map((chain) => nameOf(table, chain)), live);
      const right = new Set(known.filter((chain) => !unknown.has(nameOf(table, chain))));
      const rest = new Map([...wanted].filter(([chain]) => !right.has(chain)));
      return rest.size === 0 ? [] : await reading.differing(table, rest);
    };
    return {
      chains: reading.chains,
      rules: (table, chains) => reading.rules(table, chains),
      differing,
    };
  }

  /** Goes on with a round, if it is time; whether rules were found that are not ours. */
  async isDifferent(applied: Applied, options: SliceOptions): Promise<boolean> {
    const { clock, family, xtables } = this.#options;
    const live = xtables.live?.(family);
    const started = clock.monotonic();
    if (!live || started < this.#next || !this.#begin(applied)) return false;
    const end = Math.max(0, this.#left.length - this.#perSlice);
    let isCheap = true;
    while (this.#left.length > end && !options.signal.aborted) {
      const group = this.#left.slice(Math.max(end, this.#left.length - chainsPerQuestion));
      const unknown = await this.#unknownOf(group, live);
      const isRead = unknown.size > 0 && this.#kind === "compare";
      if (
        isRead && await areRulesDifferentIn(new Set(unknown.keys()), { applied, reading: live })
      ) {
        return true;
      }
      if (unknown.size > 0 && this.#kind === "learn" && !await options.isUnmoved()) {
        this.#left = [];
        this.#isLearnt = false;
        break;
      }
      if (isRead) isCheap = false;
      for (const [name, number] of unknown) this.#right.set(name, number);
      this.#left.length -= group.length;
    }
    const pause = (clock.monotonic() - started) / roundShare;
    this.#next = started + (isCheap ? Math.min(pause, longestPauseMs) : pause);
    return false;
  }

  /** Whether there is something to look at. */
  #begin(applied: Applied): boolean {
    if (this.#left.length > 0 && !(this.#kind === "learn" && this.#isDue)) return true;
    if (!this.#isDue && this.#isLearnt) return false;
    const names = namesOf(applied);
    this.#kind = this.#isDue ? "compare" : "learn";
    this.#left = this.#isDue ? names : names.filter((name) => !this.#right.has(name));
    this.#perSlice = Math.ceil(names.length / slicesPerRound);
    if (this.#isDue) this.#isDue = false;
    else this.#isLearnt = true;
    return true;
  }

  /** Those that hold other rules than when they were right, with what they are known by now. */
  async #unknownOf(
    names: readonly string[],
    live: XtLiveRules,
  ): Promise<ReadonlyMap<string, number>> {
    const chains = new Map<XtTable, string[]>();
    for (const name of names) {
      const { chain, table } = placeOf(name);
      const known = chains.get(table);
      if (known) known.push(chain);
      else chains.set(table, [chain]);
    }
    const unknown = new Map<string, number>();
    for (const [table, asked] of chains) {
      const numbers = await live.digests(table, asked);
      for (const [index, chain] of asked.entries()) {
        const name = nameOf(table, chain);
        if (this.#right.get(name) !== numbers[index]) unknown.set(name, numbers[index]);
      }
    }
    return unknown;
  }
}

/** All chains whose rules are ours, or have to hold some of ours. */
function namesOf({ context, kept, owners }: Applied): string[] {
  const names = new Set<string>();
  for (const { chain, table } of [...jumps, ...staticChains(context), ...sharedChains]) {
    names.add(nameOf(table, chain));
  }
  for (const chain of [...owners.keys(), ...kept]) names.add(nameOf("nat", chain));
  return [...names];
}
