import { deepEqual } from "../../base/deep_equal.ts";
import type { NftElement } from "../../kernel/nftables/operations.ts";

/** Whether two elements with the same key say the same. */
export function sameElement(a: NftElement, b: NftElement): boolean {
  return a.comment === b.comment && deepEqual(a.value, b.value);
}
