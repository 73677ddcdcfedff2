import type { Clock } from "./clock.ts";
import type { Logger, LogValues } from "./log.ts";

/** Something that failed: the key says which failures count as the same one. */
export interface Failure {
  readonly key: string;
  readonly message: string;
  readonly error?: unknown;
  readonly values?: LogValues;
}

interface Seen {
  saidAt: number;
  suppressed: number;
}

/** Beyond this many different failures the log would be no help, and memory has an end. */
const maxKeys = 1_000;

/**
 * Says a failure that goes on for hours at most once a minute. The first is said at once; a later
 * line counts those in between in `repeated`.
 */
export class RepeatedFailureLog {
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #seen = new Map<string, Seen>();

  constructor(logger: Logger, clock: Clock, options: { readonly intervalMs?: number } = {}) {
    this.#logger = logger;
    this.#clock = clock;
    this.#intervalMs = options.intervalMs ?? 60_000;
  }

  /** Logs the failure as an error, or counts it if the same was logged less than a minute ago. */
  report(failure: Failure): void {
    const now = this.#clock.monotonic();
    const seen = this.#seen.get(failure.key);
    if (seen && now - seen.saidAt < this.#intervalMs) {
      seen.suppressed++;
      return;
    }
    if (!seen && this.#seen.size >= maxKeys) this.#forgetOldest();
    this.#seen.set(failure.key, { saidAt: now, suppressed: 0 });
    const repeated = seen && seen.suppressed > 0 ? { repeated: seen.suppressed } : {};
    this.#logger.error(failure.message, failure.error, { ...failure.values, ...repeated });
  }

  /** The failure is over: the next one with this key is said at once. */
  clear(key: string): void {
    this.#seen.delete(key);
  }

  #forgetOldest(): void {
    for (const key of this.#seen.keys()) {
      this.#seen.delete(key);
      return;
    }
  }
}
