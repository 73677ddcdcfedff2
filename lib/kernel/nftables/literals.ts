/**
 * Literal values of a rule in the one form that `nft` prints and reads back: sorted, without
 * duplicates, overlapping and adjacent ranges merged (nft merges them when it reads the rule, so
 * anything else would list differently after a reload).
 */
import { compareBytes, increment } from "./bytes.ts";
import { type FieldLayout, readFieldRanges, writeFieldRanges } from "./fields.ts";
import type { NftField } from "./operations.ts";

/** A range of keys of one field; `first` equals `last` for a single value. */
export interface LiteralRange {
  readonly first: Uint8Array;
  readonly last: Uint8Array;
}

/** The values as disjoint ranges in ascending order. Throws when there is none. */
export function literalRanges(
  layout: FieldLayout,
  values: readonly NftField[],
): readonly LiteralRange[] {
  if (values.length === 0) throw new RangeError("Cannot encode rule: it compares with no value");
  const ranges = values.map((value) => {
    const range = { first: new Uint8Array(layout.bytes), last: new Uint8Array(layout.bytes) };
    writeFieldRanges(layout, [value], range);
    return range;
  }).sort((a, b) => compareBytes(a.first, b.first) || compareBytes(a.last, b.last));
  // Of values without any range nft makes a set without intervals, in which nothing is merged.
  return haveIntervals(ranges) ? mergeRanges(ranges) : withoutRepeats(ranges);
}

/** The field that a range is printed as. */
export function literalField(layout: FieldLayout, range: LiteralRange): NftField {
  return readFieldRanges(layout, range)[0];
}

/** Whether any of these values needs a set with intervals. */
export function haveIntervals(ranges: readonly LiteralRange[]): boolean {
  return ranges.some(({ first, last }) => compareBytes(first, last) !== 0);
}

function mergeRanges(sorted: readonly LiteralRange[]): LiteralRange[] {
  const merged: LiteralRange[] = [];
  for (const range of sorted) {
    const previous = merged.at(-1);
    if (previous === undefined || !touches(previous.last, range.first)) {
      merged.push(range);
    } else if (compareBytes(range.last, previous.last) > 0) {
      merged[merged.length - 1] = { first: previous.first, last: range.last };
    }
  }
  return merged;
}

/** Whether a range that starts at `first` overlaps or continues one that ends at `last`. */
function touches(last: Uint8Array, first: Uint8Array): boolean {
  const next = last.slice();
  return !increment(next) || compareBytes(first, next) <= 0;
}

function withoutRepeats(sorted: readonly LiteralRange[]): LiteralRange[] {
  return sorted.filter((range, i) =>
    i === 0 || compareBytes(sorted[i - 1].first, range.first) !== 0
  );
}
