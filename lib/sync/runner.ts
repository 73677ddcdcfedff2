/**
 * Decides when a unit of work runs, and nothing else: at once when asked while idle, not again before
 * an interval that counts from the *end* of the run, again sooner after a failure, and once in a long
 * while even when it was not asked. Runs never overlap. Any number of requests before a run mean one run. A
 * request that comes while idle runs at once; only those that come during a run are gathered.
 */
import type { Clock } from "../base/clock.ts";
import type { Gathering } from "../writers/writer.ts";
import type { SharedRest } from "./shared_rest.ts";

/** When to run. All times are in milliseconds. */
export interface RunIntervals {
  /** From the end of a run to the start of the next. */
  readonly minMs: number;
  /** The longest time from the end of a failed run to the next: the first is a second, each doubles. */
  readonly retryMs: number;
  /** From the end of a run to the next when nobody asks. */
  readonly maxMs: number;
  /** For requests that come while a run is going on; absent: the next run follows at once. */
  readonly gathering?: Gathering;
  /** Before the next run, also after those of others who share it; absent: none. */
  readonly rest?: SharedRest;
}

/** What a runner needs. */
export interface RunnerOptions {
  readonly intervals: RunIntervals;
  readonly clock: Clock;
  /** A run that throws is a failed one, and is run again. After one that resolves to false there is no rest. */
  readonly work: (signal: AbortSignal) => Promise<boolean | void>;
  /** Told of each failed run, with the time after which it is run again. Must not throw. */
  readonly onFailure: (error: unknown, retryMs: number) => void;
}

/** What failed once may be over soon: somebody else's table, a kernel without memory. */
const firstRetryMs = 1_000;

/** Runs one piece of work at a bounded frequency. */
export class BoundedFrequencyRunner {
  readonly #options: RunnerOptions;
  #requested = false;
  #firstRequestAt = 0;
  #lastRequestAt = 0;
  #forced = false;
  #failures = 0;
  #wakeUp: () => void = () => {};
  #alarm: { readonly time: number; readonly cancel: () => void } | undefined;

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
    this.#lastRequestAt = this.#options.clock.monotonic();
    if (!this.#requested) this.#firstRequestAt = this.#lastRequestAt;
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
    signal.addEventListener("abort", () => this.#wakeUp(), { once: true });
    try {
      await this.#loop(signal);
    } finally {
      this.#alarm?.cancel();
    }
  }

  async #loop(signal: AbortSignal): Promise<void> {
    const { clock, intervals } = this.#options;
    let nextRunAt = clock.monotonic() + intervals.maxMs;
    while (!signal.aborted) {
      await this.#until(() => this.#requested, nextRunAt, signal);
      await this.#untilRested(signal);
      if (signal.aborted) return;
      this.#requested = false;
      this.#forced = false;
      const startMs = clock.monotonic();
      const { nextInMs, rests } = await this.#runOnce(signal);
      const endMs = clock.monotonic();
      if (rests) intervals.rest?.ran({ startMs, endMs });
      nextRunAt = endMs + nextInMs;
      await this.#until(() => this.#forced, endMs + intervals.minMs, signal);
      await this.#untilRested(signal);
      if (this.#requested) await this.#gather(signal);
    }
  }

  /** The rest may become longer while it is waited for. */
  async #untilRested(signal: AbortSignal): Promise<void> {
    const { clock, intervals: { rest } } = this.#options;
    while (rest && rest.until > clock.monotonic() && !this.#forced && !signal.aborted) {
      await this.#until(() => this.#forced, rest.until, signal);
    }
  }

  /** Returns the time until the next run when nobody asks for one. */
  async #runOnce(
    signal: AbortSignal,
  ): Promise<{ readonly nextInMs: number; readonly rests: boolean }> {
    const { intervals, onFailure, work } = this.#options;
    try {
      const rests = await work(signal) !== false;
      this.#failures = 0;
      return { nextInMs: intervals.maxMs, rests };
    } catch (error) {
      const longestMs = Math.min(intervals.retryMs, intervals.maxMs);
      const retryMs = Math.max(
        intervals.minMs,
        Math.min(firstRetryMs * 2 ** this.#failures++, longestMs),
      );
      if (!signal.aborted) onFailure(error, retryMs);
      return { nextInMs: retryMs, rests: true };
    }
  }

  async #gather(signal: AbortSignal): Promise<void> {
    const { clock, intervals: { gathering } } = this.#options;
    if (!gathering) return;
    const latest = this.#firstRequestAt + gathering.mostMs;
    const quietAt = () => Math.min(this.#lastRequestAt + gathering.quietMs, latest);
    while (clock.monotonic() < quietAt() && !this.#forced && !signal.aborted) {
      await this.#until(() => this.#forced, quietAt(), signal);
    }
  }

  /** Resolves when a request fulfils the condition, the time has come, or the signal aborts. */
  async #until(condition: () => boolean, time: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!condition() && !signal.aborted) {
      const left = time - clock.monotonic();
      if (left <= 0) return;
      // No signal: an abort takes ten times as long, and every change comes by here.
      const woken = Promise.withResolvers<void>();
      this.#wakeUp = woken.resolve;
      this.#setAlarm(time, left);
      await woken.promise;
      this.#wakeUp = () => {};
    }
  }

  /**
   * Wakes the loop at that time or before. An earlier alarm stays, since who is woken too soon waits
   * on: so the changes that come while one waits for the far end set no timers.
   */
  #setAlarm(time: number, left: number): void {
    if (this.#alarm && this.#alarm.time <= time) return;
    this.#alarm?.cancel();
    const cancel = this.#options.clock.after(left, () => {
      this.#alarm = undefined;
      this.#wakeUp();
    });
    this.#alarm = { time, cancel };
  }
}
