/** Looks that take a small share of the time at most, however often there is something to look for. */
import type { Clock } from "../../base/clock.ts";

/** How often a look has its turn. */
export interface Pace {
  /** Share of the time that looking may take. */
  readonly share: number;
  /** From the beginning of a look to that of the next at most, whatever the share; unbounded when absent. */
  readonly longestMs?: number;
  /** What may be saved up while there is nothing to look for, and is spent without waiting; nothing when absent. */
  readonly savedMs?: number;
}

export class Turns {
  readonly #clock: Clock;
  #started = -Infinity;
  /** Until then the looks so far took their share. */
  #paidAt = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Looks, if it is time; false where it is not. */
  async take(
    { longestMs = Infinity, savedMs = 0, share }: Pace,
    look: () => Promise<boolean>,
  ): Promise<boolean> {
    const now = this.#clock.monotonic();
    if (now < Math.min(this.#paidAt, this.#started + longestMs)) return false;
    this.#started = now;
    this.#paidAt = Math.min(now, Math.max(this.#paidAt, now - savedMs / share));
    let isDifferent = false;
    try {
      return isDifferent = await look();
    } finally {
      // Who changed what is ours may go on: a firewall that starts anew takes one table after the other.
      if (!isDifferent) this.#paidAt += (this.#clock.monotonic() - now) / share;
    }
  }
}
