/** Which intervals the kernel refuses beside those that a set holds already. */
import { Errno } from "../errno.ts";
import { compareBytes } from "./bytes.ts";
import { elementKey } from "./element_identity.ts";
import { type FieldLayout, fieldLayout, writeFieldRanges } from "./fields.ts";
import type { NftElement, NftFamily, NftField, NftSet } from "./operations.ts";

interface Box {
  readonly first: Uint8Array;
  readonly last: Uint8Array;
}

/** A set with intervals and what it holds. */
export interface FakeIntervals {
  readonly set: NftSet;
  readonly family: NftFamily;
  readonly elements: ReadonlyMap<string, NftElement>;
}

/**
 * EEXIST where the new element overlaps another. Concatenations are looked up by their lowest and
 * their highest corner only, so a wider element may follow a narrower one inside it, not precede it.
 */
export function overlapErrno(
  { set, family, elements }: FakeIntervals,
  element: NftElement,
): number {
  if (element.key.length === 0) return 0;
  const layout = fieldLayout(set.key, family);
  const added = boxOf(layout, element.key);
  for (const { key } of elements.values()) {
    if (key.length === 0) continue;
    const box = boxOf(layout, key);
    const overlaps = set.key.length === 1
      ? compareBytes(added.first, box.last) <= 0 && compareBytes(box.first, added.last) <= 0
      : holds(layout, box, added.first) || holds(layout, box, added.last);
    if (overlaps) return Errno.EEXIST;
  }
  return 0;
}

/**
 * The key of the element that a deletion finds: for concatenations the one that holds the lowest
 * corner, whatever its size. A writer that names a range wrongly deletes another one.
 */
export function keyToDelete(
  { set, family, elements }: FakeIntervals,
  element: NftElement,
): string | undefined {
  const exact = elementKey(element);
  const isExact = elements.has(exact) || set.key.length === 1 || element.key.length === 0;
  if (isExact) return exact;
  const layout = fieldLayout(set.key, family);
  const { first } = boxOf(layout, element.key);
  for (const [key, other] of elements) {
    if (other.key.length === 0) continue;
    if (holds(layout, boxOf(layout, other.key), first)) return key;
  }
  return undefined;
}

function boxOf(layout: FieldLayout, key: readonly NftField[]): Box {
  const box = { first: new Uint8Array(layout.bytes), last: new Uint8Array(layout.bytes) };
  writeFieldRanges(layout, key, box);
  return box;
}

/** Whether the corner lies within the box in every field. */
function holds(layout: FieldLayout, box: Box, corner: Uint8Array): boolean {
  return layout.places.every(({ offset, size }) => {
    const part = (bytes: Uint8Array) => bytes.subarray(offset, offset + size);
    return compareBytes(part(box.first), part(corner)) <= 0 &&
      compareBytes(part(corner), part(box.last)) <= 0;
  });
}
