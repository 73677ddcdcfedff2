/**
 * Compares the kernel's elements with the desired ones. What is the same byte for byte, as nearly all of
 * them are, is found by words (`match_elements.ts`); the rest is spelled anew by what it says, and
 * matched again. Not for intervals of a single field, whose start and end are two elements.
 */
import { copyElement, ElementCursor } from "./element_cursor.ts";
import { GrowingBytes } from "./growing_bytes.ts";
import { ElementWords, matchElements } from "./match_elements.ts";

/** What differs between two lists. */
export interface ListDifference {
  /**
   * The kernel's list holds an element twice. While a set's table grows in the background a dump can
   * give elements twice and leave others out, and no flag says so; it has to be read again.
   */
  readonly isTorn: boolean;
  /** The desired elements that the kernel has not, as a list in their order. */
  readonly missing: Uint8Array<ArrayBuffer>;
  /** The kernel's elements that are not desired, as a list. */
  readonly extra: Uint8Array<ArrayBuffer>;
}

/** Elements are equal when key, value and comment are. */
export function compareElementLists(kernel: Uint8Array, desired: Uint8Array): ListDifference {
  const [there, wanted] = [ElementWords.of(kernel), ElementWords.of(desired)];
  if (!there || !wanted) return compareByMeaning(kernel, desired);
  const { first, isTwice, second } = matchElements(there, wanted);
  const rest = compareByMeaning(there.pick(first), wanted.pick(second));
  return { ...rest, isTorn: isTwice || rest.isTorn };
}

/** Elements may say the same in other bytes: a kernel may tell more of them, or in another order. */
function compareByMeaning(kernel: Uint8Array, desired: Uint8Array): ListDifference {
  const [there, wanted] = [new Meanings(kernel), new Meanings(desired)];
  const { first, isTwice, second } = matchElements(there.words, wanted.words);
  return { isTorn: isTwice, missing: wanted.pick(second), extra: there.pick(first) };
}

/** The elements of a list, spelled alike where key, value and comment are. */
class Meanings {
  readonly words: ElementWords;
  readonly #cursor: ElementCursor;
  readonly #starts: number[] = [];

  constructor(list: Uint8Array) {
    this.#cursor = new ElementCursor(list);
    const speller = new Speller();
    while (this.#cursor.next()) {
      this.#starts.push(this.#cursor.element.start);
      speller.add(this.#cursor);
    }
    this.words = speller.finish();
  }

  /** A copy of these elements, as a list. */
  pick(numbers: readonly number[]): Uint8Array<ArrayBuffer> {
    const picked = new GrowingBytes();
    for (const number of numbers) {
      this.#cursor.seek(this.#starts[number]);
      picked.append(copyElement(this.#cursor));
    }
    return picked.view();
  }
}

/** Spells elements in words: how many bytes they are, verdict, flags, and each part behind its length. */
class Speller {
  readonly #spelled = new GrowingBytes();
  readonly #bounds = [0];
  /** One element; larger than any that the kernel takes. */
  readonly #scratch = new Int32Array(17 << 10);
  readonly #bytes = new Uint8Array(this.#scratch.buffer);

  add(cursor: ElementCursor): void {
    const { chain, data, flags, key, keyEnd, userData, verdictCode } = cursor;
    const scratch = this.#scratch;
    scratch[1] = verdictCode;
    scratch[2] = flags;
    let at = 3;
    for (const part of [key, keyEnd, data, chain, userData]) {
      scratch[at++] = part.length;
      if (part.length === 0) continue;
      const words = (part.length + 3) >>> 2;
      scratch[at + words - 1] = 0;
      this.#bytes.set(cursor.view(part), at * 4);
      at += words;
    }
    scratch[0] = at * 4;
    this.#spelled.append(this.#bytes.subarray(0, at * 4));
    this.#bounds.push(this.#spelled.length / 4);
  }

  finish(): ElementWords {
    const { buffer, byteLength } = this.#spelled.view();
    return new ElementWords(
      new Int32Array(buffer, 0, byteLength / 4),
      Uint32Array.from(this.#bounds),
    );
  }
}
