/** How much time may go into looking for somebody else's changes; all writers of the program share it. */
import type { Clock } from "../../base/clock.ts";

/** The share of all time. */
const share = 1 / 32;
/**
 * What can be saved up: after a rest, one commit of somebody else's has all elements of 10,000 Services
 * with 10 endpoints each looked at in one go. It is spent in steps of some milliseconds, and whoever has
 * something to write goes in between.
 */
const mostMs = 1_000;

/** Earns as time passes. */
export class LookBudget {
  readonly #clock: Clock;
  #ms = mostMs;
  #earnedAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#earnedAt = clock.monotonic();
  }

  /** Whether there is something left to spend. */
  get isLeft(): boolean {
    this.#earn();
    return this.#ms > 0;
  }

  /** Spends the time that this takes, however long that is. */
  async spend<T>(action: () => Promise<T>): Promise<T> {
    this.#earn();
    const started = this.#clock.monotonic();
    try {
      return await action();
    } finally {
      this.#ms -= this.#clock.monotonic() - started;
    }
  }

  #earn(): void {
    const now = this.#clock.monotonic();
    this.#ms = Math.min(mostMs, this.#ms + (now - this.#earnedAt) * share);
    this.#earnedAt = now;
  }
}
