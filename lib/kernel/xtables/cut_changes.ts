/**
 * Where changes may be parted that the socket does not take at once. They come in an order that does no
 * harm when they are committed one by one; what must not be seen half done is a chain that is there and
 * gets other rules. Pure.
 */
import type { XtChange } from "./rules.ts";

/**
 * How many changes the first of two parts has: about half, with the rules of a chain together. A chain that
 * is nearly all there is has to be parted itself: undefined for a single change.
 */
export function cutChanges(changes: readonly XtChange[]): number | undefined {
  if (changes.length < 2) return undefined;
  const middle = changes.length >> 1;
  for (let away = 0; away < middle; away++) {
    for (const at of [middle - away, middle + away]) {
      if (mayPartAt(changes, at)) return at;
    }
  }
  return middle;
}

/** Between two changes that are not for one chain, or in one that nothing leads to yet. */
function mayPartAt(changes: readonly XtChange[], at: number): boolean {
  const [before, after] = [changes[at - 1], changes[at]];
  if (!before || !after) return false;
  if (after.kind !== "append-rule" || !("chain" in before)) return true;
  return before.chain !== after.chain || before.table !== after.table;
}
