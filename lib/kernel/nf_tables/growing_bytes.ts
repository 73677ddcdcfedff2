/** Bytes that come piece by piece, in one buffer: it doubles when it is full. */

/** A first datagram of a dump has room in this. */
const FIRST_BYTES = 4096;

/** Appends by copying. */
export class GrowingBytes {
  #bytes = new Uint8Array(FIRST_BYTES);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  append(piece: Uint8Array): void {
    const end = this.#length + piece.length;
    if (end > this.#bytes.length) {
      const capacity = Math.max(end, this.#bytes.length * 2);
      // What it was is free at once, and not only when garbage is collected.
      this.#bytes = new Uint8Array(this.#bytes.buffer.transfer(capacity));
    }
    this.#bytes.set(piece, this.#length);
    this.#length = end;
  }

  /** Drops what is beyond. */
  truncate(length: number): void {
    this.#length = length;
  }

  /** What is there so far; nothing may be appended while somebody reads it. */
  view(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length);
  }
}
