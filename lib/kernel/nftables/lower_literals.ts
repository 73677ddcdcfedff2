/** Matches against literal values, in the shortest of the forms that `nft` makes of the same text. */
import { prefixLengthOf } from "./addresses.ts";
import { increment } from "./bytes.ts";
import { type AnonymousElement, type AnonymousSet, CmpOp, type Expression } from "./expressions.ts";
import type { FamilyFacts } from "./family.ts";
import { fieldLayout } from "./fields.ts";
import { haveIntervals, type LiteralRange, literalRanges } from "./literals.ts";
import type { NftField, NftSelector } from "./operations.ts";
import { loadOne, selectorType } from "./selectors.ts";

/** The selector compared with one value, or looked up in a set of the rule's own. */
export function lowerLiteralMatch(
  select: readonly NftSelector[],
  values: readonly NftField[],
  { facts, not }: { readonly facts: FamilyFacts; readonly not: boolean },
): Expression[] {
  const [selector] = select;
  const field = selectorType(selector);
  if (select.length !== 1 || field === "index") {
    throw new TypeError("Cannot encode rule: literal values take one selector of the packet");
  }
  const layout = fieldLayout([field], facts.name);
  const ranges = literalRanges(layout, values);
  const loaded = loadOne(selector, { into: 1, facts });
  if (ranges.length === 1) return compareWithRange(loaded, ranges[0], not);
  const set: AnonymousSet = {
    keyField: field,
    keyTypeId: layout.typeId,
    keyBytes: layout.bytes,
    isVerdictMap: false,
    ...(haveIntervals(ranges)
      ? { interval: true, elements: ranges.flatMap(intervalElements) }
      : { interval: false, elements: ranges.map(({ first }) => ({ key: first })) }),
  };
  return [loaded, { kind: "lookup", target: { kind: "anonymous", set }, from: 1, not }];
}

/** One value: compared whole, by its leading bytes, by a mask, or (no CIDR) by both bounds. */
function compareWithRange(loaded: Expression, range: LiteralRange, not: boolean): Expression[] {
  const { first, last } = range;
  const prefixLength = prefixLengthOf(first, last);
  if (prefixLength < 0) return compareBounds(loaded, range, not);
  const wholeBytes = prefixLength / 8;
  if (wholeBytes === first.length) return [loaded, cmp(not, first)];
  if (wholeBytes > 0 && Number.isInteger(wholeBytes) && loaded.kind === "payload") {
    return [{ ...loaded, length: wholeBytes }, cmp(not, first.slice(0, wholeBytes))];
  }
  const mask = first.map((byte, i) => ~(byte ^ last[i]) & 0xff);
  const xor = new Uint8Array(mask.length);
  return [loaded, { kind: "bitwise", from: 1, into: 1, mask, xor }, cmp(not, first)];
}

function compareBounds(loaded: Expression, range: LiteralRange, not: boolean): Expression[] {
  if (not) return [loaded, { kind: "range-not", from: 1, first: range.first, last: range.last }];
  return [
    loaded,
    { kind: "cmp", op: CmpOp.gte, from: 1, data: range.first },
    { kind: "cmp", op: CmpOp.lte, from: 1, data: range.last },
  ];
}

/** A start element and, unless the interval reaches the highest address, one behind its end. */
function intervalElements({ first, last }: LiteralRange): AnonymousElement[] {
  const end = last.slice();
  if (!increment(end)) return [{ key: first, isOpen: true }];
  return [{ key: first }, { key: end, isEnd: true }];
}

function cmp(not: boolean, data: Uint8Array): Expression {
  return { kind: "cmp", op: not ? CmpOp.neq : CmpOp.eq, from: 1, data };
}
