/** Time as an effect that tests can hold still. */

export interface Clock {
  /** Milliseconds since the epoch: for timestamps that people and metrics see. */
  now(): number;
  /** Milliseconds from an arbitrary start, never going back: for durations and deadlines. */
  monotonic(): number;
  /** Resolves after the time, or as soon as the signal aborts, without throwing. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** Calls back once after the time, unless what it returns is called before. */
  after(milliseconds: number, callback: () => void): () => void;
}

/** The real one. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (milliseconds, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, milliseconds);
      signal?.addEventListener("abort", done);
    }),
  after: (milliseconds, callback) => {
    const timer = setTimeout(callback, milliseconds);
    return () => clearTimeout(timer);
  },
};

/**
 * Milliseconds until the next multiple of a period. Whoever looks now and then looks at these times: an
 * idle process is woken once for all of them. Whole, since a timer that ends before the time would
 * be followed by another one at once.
 */
export function untilNext(periodMs: number, clock: Pick<Clock, "monotonic">): number {
  return Math.ceil(periodMs - clock.monotonic() % periodMs);
}
