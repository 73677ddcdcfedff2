/**
 * The rest after a run, kept by all who hold up the same others: between the runs of two families
 * there would be none left otherwise. Nobody waits for another's run, only for the end of its rest.
 */
import type { Rest } from "../writers/writer.ts";

export class SharedRest {
  readonly #rest: Rest;
  #until = -Infinity;

  constructor(rest: Rest) {
    this.#rest = rest;
  }

  /** By the monotonic clock: nobody starts before. */
  get until(): number {
    return this.#until;
  }

  /** Takes note of somebody's run. */
  ran({ endMs, startMs }: { readonly startMs: number; readonly endMs: number }): void {
    const { leastMs, mostMs, times } = this.#rest;
    const restMs = Math.min(Math.max((endMs - startMs) * times, leastMs), mostMs);
    this.#until = Math.max(this.#until, endMs + restMs);
  }
}
