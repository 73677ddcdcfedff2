/** Elements as keys that can be compared, and what is equal. */
import { deepEqual } from "../../base/deep_equal.ts";
import type { NftElement } from "../../kernel/nftables/operations.ts";

const separator = " . ";

/** What identifies an element in its set. Joined: text put together piece by piece stays a chain in memory. */
export function elementKey({ key }: NftElement): string {
  const text = key.join(separator);
  // Only ranges have a slash, and few sets hold any.
  if (!text.includes("/")) return text;
  return key.map((field) => typeof field === "number" ? field : plainAddress(field)).join(
    separator,
  );
}

/** Whether two elements with the same key say the same. */
export function sameElement(a: NftElement, b: NftElement): boolean {
  return a.comment === b.comment && deepEqual(a.value, b.value);
}

/** A range of one address is that address; other text stays as it is. */
export function plainAddress(range: string): string {
  if (range.endsWith("/128")) return range.slice(0, -4);
  return range.endsWith("/32") && !range.includes(":") ? range.slice(0, -3) : range;
}

/** The list at a key, made when first asked for. */
export function listOf<K, V>(lists: Map<K, V[]>, key: K): V[] {
  let list = lists.get(key);
  if (!list) lists.set(key, list = []);
  return list;
}
