/** Looks that take a small share of the time at most, however often there is something to look for. */
import type { Clock } from "../../base/clock.ts";

/** How often a look has its turn. */
export interface Pace {
  /** Share of the time that looking may take. */
  readonly share: number;
  /** From the beginning of a look to that of the next at most, whatever the share; unbounded when absent. */
  readonly longestMs?: number;
}

export class Turns {
  readonly #clock: Clock;
  #started = -Infinity;
  #tookMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Looks, if it is time; false where it is not. */
  async take(
    { longestMs = Infinity, share }: Pace,
    look: () => Promise<boolean>,
  ): Promise<boolean> {
    const now = this.#clock.monotonic();
    if (now < this.#started + Math.min(this.#tookMs / share, longestMs)) return false;
    this.#started = now;
    const isDifferent = await look();
    // Who changed what is ours may go on: a firewall that starts anew takes one table after the other.
    this.#tookMs = isDifferent ? 0 : this.#clock.monotonic() - now;
    return isDifferent;
  }
}
