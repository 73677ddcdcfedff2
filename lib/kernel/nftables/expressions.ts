/**
 * A rule as the kernel's expressions. Statements are lowered to this form to be encoded, and the
 * expressions of a dump are read into it to be compared: equal rules have equal keys. It is written
 * as the kernel dumps it, defaults filled in, so that nothing has to be normalised but in the reader.
 */
import { hex } from "./bytes.ts";
import type { NftFieldType, NftVerdict } from "./operations.ts";

/** Registers are numbered as the kernel dumps them: 1..4 of 16 bytes, 8..23 of 4 bytes. */
export type Register = number;

/** Comparisons of `cmp`, by the kernel's numbers. */
export const CmpOp = { eq: 0, neq: 1, lt: 2, lte: 3, gt: 4, gte: 5 } as const;
/** Keys of `meta`. */
export const MetaKey = { mark: 3, iifname: 6, l4proto: 16 } as const;
/** Keys of `ct`. */
export const CtKey = { state: 0, status: 2 } as const;
/** Flags and result of `fib`. */
export const Fib = { saddr: 1, daddr: 2, resultType: 3 } as const;
/** Flags of `nat` and `masq`. */
export const NatFlag = { address: 1, port: 2, fullyRandom: 16 } as const;
/** Kinds of `reject`. */
export const RejectType = { icmpUnreachable: 0, tcpReset: 1 } as const;

/** One element of a set that belongs to one rule. */
export interface AnonymousElement {
  readonly key: Uint8Array;
  /** One behind the last address of an interval. */
  readonly isEnd?: boolean;
  /** The interval reaches the highest address. */
  readonly isOpen?: boolean;
  readonly verdict?: NftVerdict;
}

/** A set that belongs to one rule; the kernel names it. */
export interface AnonymousSet {
  readonly keyField: NftFieldType;
  readonly keyTypeId: number;
  readonly keyBytes: number;
  readonly interval: boolean;
  readonly isVerdictMap: boolean;
  readonly elements: readonly AnonymousElement[];
}

/** Where a lookup looks. */
export type LookupTarget =
  | { readonly kind: "named"; readonly name: string }
  | { readonly kind: "anonymous"; readonly set: AnonymousSet };

/** One expression. */
export type Expression =
  | {
    readonly kind: "payload";
    readonly base: "network" | "transport";
    readonly offset: number;
    readonly length: number;
    readonly into: Register;
  }
  | { readonly kind: "meta"; readonly key: number; readonly into: Register }
  | { readonly kind: "meta-set"; readonly key: number; readonly from: Register }
  | { readonly kind: "ct"; readonly key: number; readonly into: Register }
  | { readonly kind: "fib"; readonly flags: number; readonly into: Register }
  | {
    readonly kind: "numgen";
    readonly modulus: number;
    readonly offset: number;
    readonly into: Register;
  }
  | {
    readonly kind: "cmp";
    readonly op: number;
    readonly from: Register;
    readonly data: Uint8Array;
  }
  | {
    readonly kind: "range-not";
    readonly from: Register;
    readonly first: Uint8Array;
    readonly last: Uint8Array;
  }
  | {
    readonly kind: "bitwise";
    readonly from: Register;
    readonly into: Register;
    readonly mask: Uint8Array;
    readonly xor: Uint8Array;
  }
  | {
    readonly kind: "lookup";
    readonly target: LookupTarget;
    readonly from: Register;
    /** 0 is the verdict. */
    readonly into?: Register;
    readonly not: boolean;
  }
  | { readonly kind: "immediate"; readonly into: Register; readonly data: Uint8Array }
  | { readonly kind: "verdict"; readonly verdict: NftVerdict }
  | {
    readonly kind: "update-set";
    readonly set: string;
    readonly key: Register;
    /** 0: the set's own. */
    readonly timeoutSeconds: number;
  }
  | {
    readonly kind: "dnat";
    readonly nfproto: number;
    readonly address: Register;
    readonly port?: Register;
    readonly flags: number;
  }
  | { readonly kind: "masq"; readonly flags: number }
  | { readonly kind: "reject"; readonly type: number; readonly code: number };

/** Text that is equal for equal expressions, and for anonymous sets of equal content whatever their name. */
export function expressionsKey(expressions: readonly Expression[]): string {
  return expressions.map(expressionKey).join("\n");
}

function expressionKey(expression: Expression): string {
  if (expression.kind === "lookup" && expression.target.kind === "anonymous") {
    const { from, into, not } = expression;
    return `lookup ${from} ${into} ${not} ${anonymousSetKey(expression.target.set)}`;
  }
  return JSON.stringify(
    expression,
    (_, value) => value instanceof Uint8Array ? hex(value) : value,
  );
}

/** Content of the set in sorted order: the kernel keeps no order, and its elements come hashed. */
function anonymousSetKey(set: AnonymousSet): string {
  const elements = set.elements.map(({ key, isEnd, verdict }) => {
    const target = verdict && "chain" in verdict ? ` ${verdict.chain}` : "";
    return `${hex(key)}${isEnd ? "]" : ""}${verdict ? `:${verdict.kind}${target}` : ""}`;
  }).sort();
  return `{${set.keyTypeId} ${set.interval} ${elements.join(", ")}}`;
}
