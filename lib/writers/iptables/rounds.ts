/**
 * Rules that took the place of others show in no count of the kernel: only their chains' rules tell. Where
 * it did not tell either which chains others touched, the rules of all chains are compared, a few at a
 * time, so that no change waits long and a node with many Services spends little.
 */
import type { Clock } from "../../base/clock.ts";
import type { XtRules } from "../../kernel/xtables/xtables.ts";
import type { Applied } from "./applied.ts";
import { areRulesDifferentIn } from "./look.ts";
import { jumps, sharedChains, staticChains } from "./rules/static_chains.ts";
import { nameOf } from "./shared_chains.ts";

/** Share of the time that a round takes, unless it would last too long then. */
const roundShare = 1 / 50;
const slicesPerRound = 12;
/** Between two slices: a replaced rule is found within a minute, also where looking takes long. */
const longestPauseMs = 4_000;
/** Chains that are compared at once; in between, whoever wants to write has his turn. */
const chainsPerQuestion = 400;

/** What rounds work with. */
export interface RoundsOptions {
  readonly clock: Clock;
}

/** How a slice of a round is looked at. */
export interface SliceOptions {
  readonly live: XtRules;
  readonly signal: AbortSignal;
}

export class Rounds {
  readonly #clock: Clock;
  /** Chains that are still to be looked at; by names with tables. */
  #left: string[] = [];
  #perSlice = 0;
  #isDue = false;
  #isFinished = false;
  #next = -Infinity;

  constructor({ clock }: RoundsOptions) {
    this.#clock = clock;
  }

  /** Others may have touched anything: everything is looked at from here on. */
  lost(): void {
    this.#isDue = true;
  }

  /** All that there is is right, or is about to be. */
  agree(): void {
    this.#left = [];
    this.#isDue = false;
  }

  /** Whether a round came to its end since somebody asked, and nothing was lost meanwhile. */
  takeFinished(): boolean {
    const isFinished = this.#isFinished;
    this.#isFinished = false;
    return isFinished;
  }

  /** Goes on with a round, if it is time; whether rules were found that are not ours. */
  async isDifferent(applied: Applied, { live, signal }: SliceOptions): Promise<boolean> {
    const started = this.#clock.monotonic();
    if (started < this.#next || !this.#begin(applied)) return false;
    const end = Math.max(0, this.#left.length - this.#perSlice);
    while (this.#left.length > end && !signal.aborted) {
      const group = this.#left.slice(Math.max(end, this.#left.length - chainsPerQuestion));
      if (await areRulesDifferentIn(new Set(group), { applied, reading: live })) return true;
      this.#left.length -= group.length;
    }
    this.#isFinished = this.#left.length === 0 && !this.#isDue;
    const took = this.#clock.monotonic() - started;
    this.#next = started + Math.min(took / roundShare, longestPauseMs);
    return false;
  }

  /** Whether there is something to look at. */
  #begin(applied: Applied): boolean {
    if (this.#left.length > 0) return true;
    if (!this.#isDue) return false;
    this.#isDue = false;
    this.#left = namesOf(applied);
    this.#perSlice = Math.ceil(this.#left.length / slicesPerRound);
    return true;
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
