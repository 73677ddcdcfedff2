/** Elements as values: what makes two of them the same. */
import type { NftElementDifference } from "./nftables.ts";
import type { NftElement } from "./operations.ts";
import { elementText, keyText } from "./text.ts";

/** Text that is equal for equal keys of one set; the fields are canonical, so it is the key's text. */
export function elementKey(element: NftElement): string {
  return keyText(element.key);
}

/** Text that is equal for elements of one set with equal key, value and comment. */
export function elementIdentity(element: NftElement): string {
  return elementText(element);
}

/** Compares two lists of elements of one set. */
export function differenceOf(
  kernel: readonly NftElement[],
  desired: readonly NftElement[],
): NftElementDifference {
  const inKernel = new Set(kernel.map(elementIdentity));
  const inDesired = new Set(desired.map(elementIdentity));
  return {
    missing: desired.filter((element) => !inKernel.has(elementIdentity(element))),
    extra: kernel.filter((element) => !inDesired.has(elementIdentity(element))),
  };
}
