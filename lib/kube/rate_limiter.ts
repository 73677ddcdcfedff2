/** A token bucket, as `clientConnection.qps` and `burst` mean it. */
import type { Clock } from "../base/clock.ts";

export interface RateLimiterOptions {
  /** Requests a second in the long run; not positive means no limit. */
  readonly qps: number;
  /** Requests that may be made at once after a pause. */
  readonly burst: number;
  readonly clock: Clock;
}

/** Requests wait their turn in the order in which they came. */
export class RateLimiter {
  readonly #options: RateLimiterOptions;
  #tokens: number;
  #refilledMs: number;

  constructor(options: RateLimiterOptions) {
    this.#options = options;
    this.#tokens = Math.max(options.burst, 1);
    this.#refilledMs = options.clock.monotonic();
  }

  /** Resolves when the request may be made, with the milliseconds it waited; at once when aborted. */
  async wait(signal: AbortSignal): Promise<number> {
    const { qps, clock } = this.#options;
    if (qps <= 0) return 0;
    this.#refill();
    this.#tokens -= 1;
    if (this.#tokens >= 0) return 0;
    const waitMs = (-this.#tokens / qps) * 1000;
    await clock.sleep(waitMs, signal);
    return waitMs;
  }

  #refill(): void {
    const { qps, burst, clock } = this.#options;
    const now = clock.monotonic();
    const gained = ((now - this.#refilledMs) / 1000) * qps;
    this.#tokens = Math.min(Math.max(burst, 1), this.#tokens + gained);
    this.#refilledMs = now;
  }
}
