/** Long work gives way to everything else that waits: requests, timers, signals. */
import { setImmediate } from "node:timers";
import { type Clock, systemClock } from "./clock.ts";

/** So long one piece of work may take. */
const LONGEST_MS = 8;

/** Resolves once everything that can be done at once has had its turn; in a millisecond also where there is nothing. */
export function turnOfTheEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Turns for work of many small pieces: one only after some milliseconds, since each takes one itself. */
export class TurnsNowAndThen {
  readonly #clock: Pick<Clock, "monotonic">;
  #since: number;

  constructor(clock: Pick<Clock, "monotonic"> = systemClock) {
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  /** Between two pieces: a turn, where it is time for one. */
  async take(): Promise<void> {
    if (this.#clock.monotonic() - this.#since < LONGEST_MS) return;
    await turnOfTheEventLoop();
    this.#since = this.#clock.monotonic();
  }
}
