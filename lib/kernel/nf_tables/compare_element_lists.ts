/**
 * Compares the kernel's elements with the desired ones, byte by byte, without making an object or a
 * string for any that agree: a hundred thousand elements take some ten milliseconds. Both lists are
 * read by the same cursor. Not for intervals of a single field, whose start and end are two elements.
 */
import { ElementCursor, type Span } from "./element_cursor.ts";

/** What differs between two lists. */
export interface ListDifference {
  /**
   * The kernel's list holds an element twice. While a set's table grows in the background a dump can
   * give elements twice and leave others out, and no flag says so; it has to be read again.
   */
  readonly isTorn: boolean;
  /** Indices into the desired list, ascending. */
  readonly missing: Uint32Array<ArrayBuffer>;
  /** The kernel's elements that are not desired, as a list. */
  readonly extra: Uint8Array<ArrayBuffer>;
}

/** Elements are equal when key, value and comment are. */
export function compareElementLists(kernel: Uint8Array, desired: Uint8Array): ListDifference {
  const index = new ElementIndex(desired);
  const cursor = new ElementCursor(kernel);
  const extra: Span[] = [];
  let isTorn = false;
  while (cursor.next()) {
    const taken = index.take(cursor);
    if (taken === "unknown") extra.push({ ...cursor.element });
    if (taken === "again") isTorn = true;
  }
  return { isTorn, missing: index.untaken(), extra: copySpans(kernel, extra) };
}

/** A hash table over a list: open addressing, slots hold the element's number plus one. */
class ElementIndex {
  readonly #cursor: ElementCursor;
  readonly #starts: number[] = [];
  readonly #slots: Uint32Array;
  readonly #mask: number;
  readonly #taken: Uint8Array;

  constructor(list: Uint8Array) {
    const scan = new ElementCursor(list);
    const hashes: number[] = [];
    while (scan.next()) {
      this.#starts.push(scan.element.start);
      hashes.push(hashElement(scan));
    }
    const size = 2 ** Math.ceil(Math.log2(hashes.length * 2 + 2));
    this.#mask = size - 1;
    this.#slots = new Uint32Array(size);
    this.#taken = new Uint8Array(hashes.length);
    for (const [i, hash] of hashes.entries()) {
      let slot = hash & this.#mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & this.#mask;
      this.#slots[slot] = i + 1;
    }
    this.#cursor = new ElementCursor(list);
  }

  /** Marks the element that is equal to the other cursor's. */
  take(other: ElementCursor): "again" | "first" | "unknown" {
    let slot = hashElement(other) & this.#mask;
    for (; this.#slots[slot] !== 0; slot = (slot + 1) & this.#mask) {
      const number = this.#slots[slot] - 1;
      this.#cursor.seek(this.#starts[number]);
      if (!sameElement(this.#cursor, other)) continue;
      if (this.#taken[number] === 1) return "again";
      this.#taken[number] = 1;
      return "first";
    }
    return "unknown";
  }

  untaken(): Uint32Array<ArrayBuffer> {
    const numbers: number[] = [];
    for (let i = 0; i < this.#taken.length; i++) if (this.#taken[i] === 0) numbers.push(i);
    return Uint32Array.from(numbers);
  }
}

/** FNV-1a over key and value. */
function hashElement(cursor: ElementCursor): number {
  let hash = 0x811c9dc5 ^ cursor.verdictCode;
  hash = hashSpan(hash, cursor.bytes, cursor.key);
  hash = hashSpan(hash, cursor.bytes, cursor.keyEnd);
  return hashSpan(hash, cursor.bytes, cursor.data);
}

function hashSpan(seed: number, bytes: Uint8Array, { start, length }: Span): number {
  let hash = seed;
  for (let i = start; i < start + length; i++) hash = Math.imul(hash ^ bytes[i], 0x01000193);
  // The low bits choose the slot; the last bytes of a key must reach them all.
  return hash ^ (hash >>> 15);
}

function sameElement(a: ElementCursor, b: ElementCursor): boolean {
  return a.verdictCode === b.verdictCode && a.flags === b.flags &&
    sameSpan(a, a.key, [b, b.key]) && sameSpan(a, a.keyEnd, [b, b.keyEnd]) &&
    sameSpan(a, a.data, [b, b.data]) && sameSpan(a, a.chain, [b, b.chain]) &&
    sameSpan(a, a.userData, [b, b.userData]);
}

function sameSpan(
  a: ElementCursor,
  span: Span,
  [b, other]: readonly [ElementCursor, Span],
): boolean {
  if (span.length !== other.length) return false;
  for (let i = 0; i < span.length; i++) {
    if (a.bytes[span.start + i] !== b.bytes[other.start + i]) return false;
  }
  return true;
}

function copySpans(bytes: Uint8Array, spans: readonly Span[]): Uint8Array<ArrayBuffer> {
  const padded = (length: number) => (length + 3) & ~3;
  const copy = new Uint8Array(spans.reduce((size, { length }) => size + padded(length), 0));
  let at = 0;
  for (const { start, length } of spans) {
    copy.set(bytes.subarray(start, start + length), at);
    at += padded(length);
  }
  return copy;
}
