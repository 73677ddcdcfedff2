/** When elements are equal, and lists of them by key. */
import { deepEqual } from "../../base/deep_equal.ts";
import type { NftElement } from "../../kernel/nftables/operations.ts";

/** Whether two elements with the same key say the same. */
export function sameElement(a: NftElement, b: NftElement): boolean {
  return a.comment === b.comment && deepEqual(a.value, b.value);
}

/** The list at a key, made when first asked for. */
export function listOf<K, V>(lists: Map<K, V[]>, key: K): V[] {
  let list = lists.get(key);
  if (!list) lists.set(key, list = []);
  return list;
}
