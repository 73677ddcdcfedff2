/**
 * Compares the kernel's elements with the desired ones. What is the same byte for byte, as nearly all of
 * them are, is found by words (`match_elements.ts`); the rest is read and compared by what it says. Not
 * for intervals of a single field, whose start and end are two elements.
 */
import { copyElement, ElementCursor, type Span } from "./element_cursor.ts";
import { GrowingBytes } from "./growing_bytes.ts";
import { ElementWords, matchElements } from "./match_elements.ts";

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
  const [there, wanted] = [ElementWords.of(kernel), ElementWords.of(desired)];
  if (!there || !wanted) return compareByMeaning(kernel, desired);
  const { first, isTwice, second } = matchElements(there, wanted);
  const rest = compareByMeaning(there.pick(first), wanted.pick(second));
  return {
    isTorn: isTwice || rest.isTorn,
    missing: rest.missing.map((index) => second[index]),
    extra: rest.extra,
  };
}

/** Elements may say the same in other bytes: a kernel may tell more of them, or in another order. */
function compareByMeaning(kernel: Uint8Array, desired: Uint8Array): ListDifference {
  const untaken = new Map<string, number>();
  const wanted = new ElementCursor(desired);
  for (let index = 0; wanted.next(); index++) untaken.set(meaningOf(wanted), index);
  const taken = new Set<string>();
  const extra = new GrowingBytes();
  let isTorn = false;
  const there = new ElementCursor(kernel);
  while (there.next()) {
    const meaning = meaningOf(there);
    if (taken.has(meaning)) isTorn = true;
    else if (untaken.delete(meaning)) taken.add(meaning);
    else extra.append(copyElement(there));
  }
  return { isTorn, missing: Uint32Array.from(untaken.values()), extra: extra.view() };
}

const latin1 = new TextDecoder("latin1");

/** Equal for elements whose key, value and comment are. */
function meaningOf(cursor: ElementCursor): string {
  const { chain, data, flags, key, keyEnd, userData, verdictCode } = cursor;
  const text = (span: Span) => `${span.length}:${latin1.decode(cursor.view(span))}`;
  return [verdictCode, flags, ...[key, keyEnd, data, chain, userData].map(text)].join(" ");
}
