/**
 * Many payloads in one buffer: a hundred thousand buffers of their own take several times the memory, and
 * each one that is handed to another thread costs.
 */
import { GrowingBytes } from "./growing_bytes.ts";

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
const FIRST_LENGTHS = 64;

/** Packs payloads as they come, by copying them. */
export class PayloadPacker {
  readonly #bytes = new GrowingBytes();
  #lengths = new Uint32Array(FIRST_LENGTHS);
  #count = 0;

  /** How many there are. */
  get count(): number {
    return this.#count;
  }

  add(payload: Uint8Array): void {
    this.#bytes.append(payload);
    if (this.#count === this.#lengths.length) {
      const grown = new Uint32Array(this.#count * 2);
      grown.set(this.#lengths);
      this.#lengths = grown;
    }
    this.#lengths[this.#count++] = payload.length;
  }

  /** Drops all but the first so many. */
  truncate(count: number): void {
    let { length } = this.#bytes;
    for (; this.#count > count; this.#count--) length -= this.#lengths[this.#count - 1];
    this.#bytes.truncate(length);
  }

  /** Nothing can be added afterwards: these are views of what was packed. */
  finish(): PackedPayloads {
    return {
      bytes: this.#bytes.view(),
      lengths: this.#lengths.subarray(0, this.#count),
    };
  }
}

/** Views of the packed payloads. */
export function unpackPayloads({ bytes, lengths }: PackedPayloads): Uint8Array[] {
  let at = 0;
  return Array.from(lengths, (length) => bytes.subarray(at, at += length));
}

/** Hands over a view of each, which ends with the call: all of them at once would take more than what they show. */
export function visitPayloads(
  { bytes, lengths }: PackedPayloads,
  visit: (payload: Uint8Array) => void,
): void {
  let at = 0;
  for (const length of lengths) visit(bytes.subarray(at, at += length));
  bytes.buffer.transfer(0);
}

/** Views of the packed payloads, group by group. */
export function unpackGroups({ counts, payloads }: PackedGroups): Uint8Array[][] {
  const all = unpackPayloads(payloads);
  let at = 0;
  return Array.from(counts, (count) => all.slice(at, at += count));
}
