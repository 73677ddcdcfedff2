/**
 * How long to wait after a failure. Soon at first, because most outages are restarts and a change
 * must reach the node within seconds of their end; never in step with the other nodes.
 */
import { ApiError } from "../kube/status.ts";

const firstMs = 200;
/** Asking a server that is not there costs nothing: keep asking. */
const unreachableCapMs = 1_000;
/** A server that has refused for about a minute is asked less often. */
const refusedCapMs = 1_500;
const patientAttempts = 50;
const longestMs = 30_000;

/** Counts failures in a row. */
export class Backoff {
  readonly #random: () => number;
  #failures = 0;
  /** Refusals in a row: those of a server that just came back say nothing about its patience. */
  #refusals = 0;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** It worked: the next failure is the first again. */
  reset(): void {
    this.#failures = 0;
    this.#refusals = 0;
  }

  /** Milliseconds until the next attempt after this failure. */
  next(error: unknown): number {
    const failures = this.#failures++;
    // Credentials that cannot be read are a matter of this machine: asking again costs nothing either.
    if (!(error instanceof ApiError || error instanceof SyntaxError)) {
      this.#refusals = 0;
      return this.#spread(Math.min(firstMs * 2 ** Math.min(failures, 10), unreachableCapMs));
    }
    const refusals = this.#refusals++;
    if (error instanceof ApiError && error.status.retryAfterMs > 0) {
      // The server says when; all nodes were told the same, so they spread over what follows.
      return Math.min(error.status.retryAfterMs, longestMs) + this.#random() * 500;
    }
    const capMs = refusals < patientAttempts ? refusedCapMs : longestMs;
    const exponent = Math.min(
      refusals < patientAttempts ? refusals : refusals - patientAttempts + 4,
      20,
    );
    return this.#spread(Math.min(firstMs * 2 ** exponent, capMs));
  }

  #spread(delayMs: number): number {
    return delayMs * (0.5 + this.#random() / 2);
  }
}
