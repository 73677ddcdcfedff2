/**
 * How long to wait after a failure. Soon at first, because most outages are restarts and a change
 * must reach the node within seconds of their end; never in step with the other nodes.
 */
import { ApiError, ConnectionError } from "../kube/status.ts";

const firstMs = 200;
/** A server that is not there costs nobody anything when asked: keep asking. */
const unreachableCapMs = 1_000;
/** A server that refuses is spared more the longer it refuses. */
const refusedCapMs = 1_500;
const patientAttempts = 16;
const longestMs = 30_000;

/** Counts failures in a row. */
export class Backoff {
  readonly #random: () => number;
  #failures = 0;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** It worked: the next failure is the first again. */
  reset(): void {
    this.#failures = 0;
  }

  /** Milliseconds until the next attempt after this failure. */
  next(error: unknown): number {
    const failures = this.#failures++;
    if (error instanceof ApiError && error.status.retryAfterMs > 0) {
      // The server says when; all nodes were told the same, so they spread over what follows.
      return Math.min(error.status.retryAfterMs, longestMs) + this.#random() * 500;
    }
    const capMs = error instanceof ConnectionError
      ? unreachableCapMs
      : failures < patientAttempts
      ? refusedCapMs
      : longestMs;
    const exponent = Math.min(failures < patientAttempts ? failures : failures - 12, 20);
    const delayMs = Math.min(firstMs * 2 ** exponent, capMs);
    return delayMs * (0.5 + this.#random() / 2);
  }
}
