/**
 * Decides when a unit of work runs, and nothing else: at once when asked after a quiet time, not
 * again before a minimum interval that counts from the *end* of the run, again sooner after a
 * failure, and once in a long while even when nobody asked. Runs never overlap. Requests are a
 * mailbox with one slot: any number of them before a run means one run.
 */
import type { Clock } from "../base/clock.ts";

/** How requests that come close together are gathered into one run. */
export interface Gathering {
  /** A run starts once no further request came for this long … */
  readonly quietMs: number;
  /** … or this long after the first one. */
  readonly mostMs: number;
}

/** When to run. All times are in milliseconds. */
export interface RunIntervals {
  /** From the end of a run to the start of the next. */
  readonly minMs: number;
  /** From the end of a failed run to the next. */
  readonly retryMs: number;
  /** From the end of a run to the next when nobody asks. */
  readonly maxMs: number;
  /** Absent: a request that finds the runner idle is run at once. */
  readonly gathering?: Gathering;
}

/** What a runner needs. */
export interface RunnerOptions {
  readonly intervals: RunIntervals;
  readonly clock: Clock;
  /** A run that throws is a failed one, and is run again. */
  readonly work: (signal: AbortSignal) => Promise<void>;
  /** Told of each failed run, with the time after which it is run again. Must not throw. */
  readonly onFailure: (error: unknown, retryMs: number) => void;
}

/** Runs one piece of work at a bounded frequency. */
export class BoundedFrequencyRunner {
  readonly #options: RunnerOptions;
  #requested = false;
  #forced = false;
  #wakeUp: () => void = () => {};

  constructor(options: RunnerOptions) {
    const { maxMs, minMs } = options.intervals;
    if (maxMs < minMs) {
      throw new RangeError(
        `Cannot run at most every ${minMs} ms and at least every ${maxMs} ms; raise the maximum interval`,
      );
    }
    this.#options = options;
  }

  /** Asks for a run as soon as the intervals allow. */
  request(): void {
    this.#requested = true;
    this.#wakeUp();
  }

  /** Asks for a run now, whatever the minimum interval says. */
  force(): void {
    this.#forced = true;
    this.request();
  }

  /** The loop; returns when the signal aborts. A request made before it starts counts. Called once. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, intervals } = this.#options;
    signal.addEventListener("abort", () => this.#wakeUp(), { once: true });
    let nextRunAt = clock.monotonic() + intervals.maxMs;
    while (!signal.aborted) {
      await this.#until(() => this.#requested, nextRunAt, signal);
      await this.#gather(signal);
      if (signal.aborted) return;
      this.#requested = false;
      this.#forced = false;
      const nextInMs = await this.#runOnce(signal);
      const end = clock.monotonic();
      nextRunAt = end + nextInMs;
      await this.#until(() => this.#forced, end + intervals.minMs, signal);
    }
  }

  /** Returns the time until the next run when nobody asks for one. */
  async #runOnce(signal: AbortSignal): Promise<number> {
    const { intervals, onFailure, work } = this.#options;
    try {
      await work(signal);
      return intervals.maxMs;
    } catch (error) {
      const retryMs = Math.max(intervals.minMs, Math.min(intervals.retryMs, intervals.maxMs));
      if (!signal.aborted) onFailure(error, retryMs);
      return retryMs;
    }
  }

  async #gather(signal: AbortSignal): Promise<void> {
    const { clock, intervals: { gathering } } = this.#options;
    if (!gathering || !this.#requested) return;
    const end = clock.monotonic() + gathering.mostMs;
    while (this.#requested && !this.#forced && !signal.aborted && clock.monotonic() < end) {
      this.#requested = false;
      const quietAt = Math.min(clock.monotonic() + gathering.quietMs, end);
      await this.#until(() => this.#requested, quietAt, signal);
    }
  }

  /** Resolves when a request fulfils the condition, the time has come, or the signal aborts. */
  async #until(condition: () => boolean, time: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!condition() && !signal.aborted) {
      const left = time - clock.monotonic();
      if (left <= 0) return;
      const woken = new AbortController();
      this.#wakeUp = () => woken.abort();
      await clock.sleep(left, woken.signal);
      this.#wakeUp = () => {};
    }
  }
}
