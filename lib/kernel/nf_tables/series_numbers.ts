/** Series as numbers, which a worker can be told and can remember a few of. */
import type { CommitSeries } from "./transport.ts";

/** Gives each series a number of its own. */
export class SeriesNumbers {
  readonly #numbers = new WeakMap<CommitSeries, number>();
  #last = 0;

  /** The same number each time; undefined for a batch of no series. */
  of(series: CommitSeries | undefined): number | undefined {
    if (!series) return undefined;
    const known = this.#numbers.get(series) ?? ++this.#last;
    this.#numbers.set(series, known);
    return known;
  }
}
