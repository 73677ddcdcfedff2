/**
 * Many payloads in one buffer: a hundred thousand buffers of their own take several times the memory, and
 * each one that is handed to another thread costs.
 */

/** One behind the other, and how long each is. */
export interface PackedPayloads {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly lengths: Uint32Array<ArrayBuffer>;
}

/** Lists of payloads in one buffer, each with its own count. */
export interface PackedGroups {
  readonly payloads: PackedPayloads;
  readonly counts: Uint32Array<ArrayBuffer>;
}

/** A first datagram of a dump has room in this. */
const FIRST_BYTES = 4096;
const FIRST_LENGTHS = 64;

/** Packs payloads as they come, by copying them. */
export class PayloadPacker {
  #bytes = new Uint8Array(FIRST_BYTES);
  #lengths = new Uint32Array(FIRST_LENGTHS);
  #used = 0;
  #count = 0;

  /** How many there are. */
  get count(): number {
    return this.#count;
  }

  add(payload: Uint8Array): void {
    const end = this.#used + payload.length;
    if (end > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(end, this.#bytes.length * 2));
      grown.set(this.#bytes.subarray(0, this.#used));
      this.#bytes = grown;
    }
    if (this.#count === this.#lengths.length) {
      const grown = new Uint32Array(this.#count * 2);
      grown.set(this.#lengths);
      this.#lengths = grown;
    }
    this.#bytes.set(payload, this.#used);
    this.#lengths[this.#count++] = payload.length;
    this.#used = end;
  }

  /** Drops all but the first so many. */
  truncate(count: number): void {
    for (; this.#count > count; this.#count--) this.#used -= this.#lengths[this.#count - 1];
  }

  /** Nothing can be added afterwards: these are views of what was packed. */
  finish(): PackedPayloads {
    return {
      bytes: this.#bytes.subarray(0, this.#used),
      lengths: this.#lengths.subarray(0, this.#count),
    };
  }
}

/** Views of the packed payloads. */
export function unpackPayloads({ bytes, lengths }: PackedPayloads): Uint8Array[] {
  let at = 0;
  return Array.from(lengths, (length) => bytes.subarray(at, at += length));
}

/** Views of the packed payloads, group by group. */
export function unpackGroups({ counts, payloads }: PackedGroups): Uint8Array[][] {
  const all = unpackPayloads(payloads);
  let at = 0;
  return Array.from(counts, (count) => all.slice(at, at += count));
}
