/** Which series of batches were refused: what follows in one of these must not be sent. */

/** A series ends with its refusal; a few more batches of it may be on their way. */
const remembered = 64;

/** The latest of them, by their numbers. */
export class StoppedSeries {
  readonly #numbers: number[] = [];

  /** A batch of the series, if it is of one, was not applied. */
  add(number: number | undefined): void {
    if (number === undefined) return;
    this.#numbers.push(number);
    if (this.#numbers.length > remembered) this.#numbers.shift();
  }

  has(number: number | undefined): boolean {
    return number !== undefined && this.#numbers.includes(number);
  }
}
