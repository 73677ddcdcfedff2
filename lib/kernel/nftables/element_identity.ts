/** Elements as values: what makes two of them the same. */
import type { NftElementDifference } from "./nftables.ts";
import type { NftElement, NftField } from "./operations.ts";
import { elementText, keyText } from "./text.ts";

/**
 * Text that is equal for equal keys of one set, desired or listed. The fields are canonical but for
 * one thing: a single address may be said as a range of one.
 */
export function elementKey({ key }: Pick<NftElement, "key">): string {
  const text = keyText(key);
  // Only ranges have a slash, and few sets hold any.
  return text.includes("/") ? keyText(key.map(singleAddress)) : text;
}

/**
 * Text that is equal for elements of one set with equal key, value and comment. For tests: kernel and
 * fake are compared by it.
 */
export function elementIdentity(element: NftElement): string {
  return elementText({ ...element, key: element.key.map(singleAddress) });
}

function singleAddress(field: NftField): NftField {
  return typeof field === "string" ? plainAddress(field) : field;
}

/** A range of one address is that address; other text stays as it is. */
export function plainAddress(range: string): string {
  const whole = range.includes(":") ? "/128" : "/32";
  return range.endsWith(whole) ? range.slice(0, -whole.length) : range;
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
