/**
 * Walks the elements of a dump without making an object for each. The kernel writes, per element:
 *
 *   NFTA_LIST_ELEM { KEY { VALUE }, [KEY_END { VALUE }], [DATA { VALUE | VERDICT { CODE, [CHAIN] } }],
 *                    [FLAGS], [TIMEOUT, EXPIRATION], [USERDATA] }
 *
 * Our own encoder writes the same, so one reader serves both sides of a comparison.
 */
import { DataAttr, ElemAttr, VerdictAttr } from "./wire.ts";

const TYPE_MASK = 0x3fff;

/** Where a value lies; `length` 0 is an absent one. */
export interface Span {
  start: number;
  length: number;
}

/** A cursor over a list of NFTA_LIST_ELEM; its fields describe the element that `next` moved to. */
export class ElementCursor {
  readonly bytes: Uint8Array;
  readonly key: Span = { start: 0, length: 0 };
  readonly keyEnd: Span = { start: 0, length: 0 };
  /** The value of a map of data. */
  readonly data: Span = { start: 0, length: 0 };
  /** The verdict's chain, its terminating zero included. */
  readonly chain: Span = { start: 0, length: 0 };
  readonly userData: Span = { start: 0, length: 0 };
  /** The whole attribute. */
  readonly element: Span = { start: 0, length: 0 };
  verdictCode = -1;
  flags = 0;
  #next = 0;

  constructor(elements: Uint8Array) {
    this.bytes = elements;
  }

  /** Moves to the next element; false behind the last. */
  next(): boolean {
    const at = this.#next;
    if (at + 4 > this.bytes.length) return false;
    const length = this.#length(at, this.bytes.length);
    this.element.start = at;
    this.element.length = length;
    this.#clear();
    this.#readElement(at + 4, at + length);
    this.#next = at + ((length + 3) & ~3);
    return true;
  }

  /** Moves to the element that starts there. */
  seek(start: number): void {
    this.#next = start;
    this.next();
  }

  /** A copy-free view of a span. */
  view(span: Span): Uint8Array {
    return this.bytes.subarray(span.start, span.start + span.length);
  }

  #clear(): void {
    this.key.length = 0;
    this.keyEnd.length = 0;
    this.data.length = 0;
    this.chain.length = 0;
    this.userData.length = 0;
    this.verdictCode = -1;
    this.flags = 0;
  }

  #readElement(start: number, end: number): void {
    for (let at = start; at + 4 <= end;) {
      const length = this.#length(at, end);
      const stop = at + length;
      switch (this.#type(at)) {
        case ElemAttr.key:
          this.#readData(at + 4, stop, this.key);
          break;
        case ElemAttr.keyEnd:
          this.#readData(at + 4, stop, this.keyEnd);
          break;
        case ElemAttr.data:
          this.#readData(at + 4, stop, this.data);
          break;
        case ElemAttr.flags:
          this.flags = this.#u32(at + 4);
          break;
        case ElemAttr.userData:
          this.#set(this.userData, at + 4, stop);
          break;
      }
      at += (length + 3) & ~3;
    }
  }

  #readData(start: number, end: number, into: Span): void {
    for (let at = start; at + 4 <= end;) {
      const length = this.#length(at, end);
      const type = this.#type(at);
      if (type === DataAttr.value) this.#set(into, at + 4, at + length);
      else if (type === DataAttr.verdict) this.#readVerdict(at + 4, at + length);
      at += (length + 3) & ~3;
    }
  }

  #readVerdict(start: number, end: number): void {
    for (let at = start; at + 4 <= end;) {
      const length = this.#length(at, end);
      const type = this.#type(at);
      if (type === VerdictAttr.code) this.verdictCode = this.#u32(at + 4);
      else if (type === VerdictAttr.chain) this.#set(this.chain, at + 4, at + length);
      at += (length + 3) & ~3;
    }
  }

  #set(span: Span, start: number, end: number): void {
    span.start = start;
    span.length = end - start;
  }

  #length(at: number, end: number): number {
    const length = this.bytes[at] | (this.bytes[at + 1] << 8);
    if (length >= 4 && at + length <= end) return length;
    throw new RangeError(
      `Cannot read nf_tables element: attribute of ${length} bytes in ${end - at}`,
    );
  }

  #type(at: number): number {
    return (this.bytes[at + 2] | (this.bytes[at + 3] << 8)) & TYPE_MASK;
  }

  #u32(at: number): number {
    const { bytes } = this;
    return ((bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3]) >>> 0;
  }
}

/** Appends what the cursor stands on to a list. */
export function copyElement(cursor: ElementCursor): Uint8Array {
  const { start, length } = cursor.element;
  const copy = new Uint8Array((length + 3) & ~3);
  copy.set(cursor.bytes.subarray(start, start + length));
  return copy;
}

/** Cuts a list between elements, so that no piece is longer; one that is too long alone is a piece. */
export function* pieces(list: Uint8Array, longest: number): Generator<Uint8Array> {
  const cursor = new ElementCursor(list);
  let start = 0;
  let end = 0;
  while (cursor.next()) {
    const { element } = cursor;
    const next = element.start + ((element.length + 3) & ~3);
    if (next - start > longest && end > start) {
      yield list.subarray(start, end);
      start = end;
    }
    end = Math.min(next, list.length);
  }
  if (end > start) yield list.subarray(start, end);
}
