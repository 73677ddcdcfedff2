/**
 * Finds which elements two lists have in common, byte for byte, by walking through their words once: no
 * object is made for any element, and nothing of it is looked at but its length. A hundred thousand
 * take some ten milliseconds.
 */
import { GrowingBytes } from "./growing_bytes.ts";

/** What a list does not share with the other. */
export interface UnmatchedElements {
  /** The first list has an element twice. */
  readonly isTwice: boolean;
  /** Numbers of elements that only the first list has, ascending. */
  readonly first: readonly number[];
  /** Numbers of elements that only the second list has, ascending. */
  readonly second: readonly number[];
}

/** The elements of a list as ranges of words. */
export class ElementWords {
  readonly words: Int32Array;
  /** Where each element begins, and where the last one ends. */
  readonly bounds: Uint32Array;
  readonly hashes: Int32Array;

  /** The first word of each element has to tell how long it is. */
  constructor(words: Int32Array, bounds: Uint32Array) {
    this.words = words;
    this.bounds = bounds;
    this.hashes = hashElements(words, bounds);
  }

  /** Undefined where the list is not made of whole words, or an element is not what its length says. */
  static of(list: Uint8Array): ElementWords | undefined {
    if (list.byteOffset % 4 !== 0 || list.length % 4 !== 0) return undefined;
    const words = new Int32Array(list.buffer, list.byteOffset, list.length / 4);
    const count = countElements(words);
    return count === undefined ? undefined : new ElementWords(words, boundsOf(words, count));
  }

  get count(): number {
    return this.hashes.length;
  }

  /** A copy of these elements, as a list. */
  pick(numbers: readonly number[]): Uint8Array<ArrayBuffer> {
    const picked = new GrowingBytes();
    for (const number of numbers) {
      const element = this.words.subarray(this.bounds[number], this.bounds[number + 1]);
      picked.append(new Uint8Array(element.buffer, element.byteOffset, element.byteLength));
    }
    return picked.view();
  }
}

/** What one list has and the other has not. */
export function matchElements(first: ElementWords, second: ElementWords): UnmatchedElements {
  const table = new HashTable(second);
  const unmatched: number[] = [];
  const isTwice = takeAll(first, table, unmatched);
  return { isTwice, first: unmatched, second: table.untaken() };
}

/** Whether the list has an element twice that the table has once. */
function takeAll(list: ElementWords, table: HashTable, unmatched: number[]): boolean {
  let isTwice = false;
  for (let number = 0; number < list.count; number++) {
    const taken = table.take(list, number);
    if (taken === "unknown") unmatched.push(number);
    if (taken === "again") isTwice = true;
  }
  return isTwice;
}

/** Open addressing; slots hold the element's number plus one. */
class HashTable {
  readonly #list: ElementWords;
  readonly #slots: Uint32Array;
  readonly #taken: Uint8Array;

  constructor(list: ElementWords) {
    this.#list = list;
    this.#slots = slotsOf(list);
    this.#taken = new Uint8Array(list.count);
  }

  /** Marks the element that is equal to that one of another list. */
  take(other: ElementWords, number: number): "again" | "first" | "unknown" {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let slot = other.hashes[number] & mask; slots[slot] !== 0; slot = (slot + 1) & mask) {
      const own = slots[slot] - 1;
      if (!isEqual(this.#list, own, other, number)) continue;
      if (this.#taken[own] === 1) return "again";
      this.#taken[own] = 1;
      return "first";
    }
    return "unknown";
  }

  untaken(): number[] {
    const numbers: number[] = [];
    for (let i = 0; i < this.#taken.length; i++) if (this.#taken[i] === 0) numbers.push(i);
    return numbers;
  }
}

function countElements(words: Int32Array): number | undefined {
  let count = 0;
  for (let at = 0; at < words.length; count++) {
    const length = wordsOf(words[at]);
    if (length === 0 || at + length > words.length) return undefined;
    at += length;
  }
  return count;
}

function boundsOf(words: Int32Array, count: number): Uint32Array {
  const bounds = new Uint32Array(count + 1);
  for (let i = 0; i < count; i++) bounds[i + 1] = bounds[i] + wordsOf(words[bounds[i]]);
  return bounds;
}

/** From the first word of an attribute: its length in bytes, and its type. */
function wordsOf(header: number): number {
  return ((header & 0xffff) + 3) >>> 2;
}

function hashElements(words: Int32Array, bounds: Uint32Array): Int32Array {
  const hashes = new Int32Array(bounds.length - 1);
  for (let i = 0; i < hashes.length; i++) {
    let hash = 0x811c9dc5;
    for (let at = bounds[i]; at < bounds[i + 1]; at++) {
      hash = Math.imul(hash ^ words[at], 0x9e3779b1);
      // The low bits choose the slot: the high bytes of a word must reach them.
      hash ^= hash >>> 15;
    }
    hashes[i] = hash;
  }
  return hashes;
}

function slotsOf({ count, hashes }: ElementWords): Uint32Array {
  const slots = new Uint32Array(2 ** Math.ceil(Math.log2(count * 2 + 2)));
  const mask = slots.length - 1;
  for (let i = 0; i < count; i++) {
    let slot = hashes[i] & mask;
    while (slots[slot] !== 0) slot = (slot + 1) & mask;
    slots[slot] = i + 1;
  }
  return slots;
}

/** By words, of which the first says how many there are. */
function isEqual(a: ElementWords, i: number, b: ElementWords, j: number): boolean {
  const [from, other] = [a.bounds[i], b.bounds[j]];
  const length = a.bounds[i + 1] - from;
  for (let at = 0; at < length; at++) {
    if (a.words[from + at] !== b.words[other + at]) return false;
  }
  return true;
}
