/**
 * What `nft` stores beside objects so that it can print them: comments, byte orders and the
 * expressions that a `typeof` names. The kernel keeps it and does not look at it.
 *
 * A list of type (1 byte), length (1 byte), value; integers are in host order.
 */
import { familyFacts } from "./family.ts";
import type { NftFamily, NftFieldType, NftSet } from "./operations.ts";

const SetData = {
  keyByteOrder: 0,
  dataByteOrder: 1,
  keyTypeof: 3,
  dataTypeof: 4,
  dataInterval: 6,
  comment: 7,
} as const;
const RULE_COMMENT = 0;
const CHAIN_COMMENT = 0;
const ELEMENT_COMMENT = 0;
const ELEMENT_FLAGS = 1;
const INTERVAL_OPEN = 1;

/** nft's numbers for the kinds of expressions that a `typeof` is made of. */
const ExprType = { verdict: 1, payload: 7, meta: 9, concat: 13, numgen: 23 } as const;
const TYPEOF_KIND = 0;
const TYPEOF_DATA = 1;
const TRANSPORT_HEADER = 11;
const TRANSPORT_DPORT = 2;
const META_L4PROTO = 16;
const NUMGEN_RANDOM = 1;
/** The modulus is not part of the type; every set gets the same, so that listings are equal. */
const TYPEOF_MODULUS = 2;

/** BYTEORDER_HOST_ENDIAN and BYTEORDER_BIG_ENDIAN of nft; 0 for concatenations and verdicts. */
const ByteOrder = { none: 0, host: 1, big: 2 } as const;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The modulus that the text form of a `typeof` has to name. */
export const typeofModulus = TYPEOF_MODULUS;

/** User data of a named set: byte orders always, `typeof` where a key or value is an `index`, the comment. */
export function setUserData(set: NftSet, family: NftFamily): Uint8Array {
  const parts: number[] = [];
  put(parts, SetData.keyByteOrder, u32(byteOrder(set.key)));
  if (set.value !== undefined) {
    const order = set.value === "verdict" ? ByteOrder.none : byteOrder(set.value);
    put(parts, SetData.dataByteOrder, u32(order));
  }
  if (needsTypeof(set)) {
    put(parts, SetData.keyTypeof, typeofFields(set.key, family));
    if (set.value !== undefined && set.value !== "verdict") {
      put(parts, SetData.dataTypeof, typeofFields(set.value, family));
    }
  }
  if (set.value !== undefined) put(parts, SetData.dataInterval, u32(0));
  if (set.comment !== undefined) put(parts, SetData.comment, zeroTerminated(set.comment));
  return Uint8Array.from(parts);
}

/** User data of an anonymous set of single fields. */
export function anonymousSetUserData(key: NftFieldType, isVerdictMap: boolean): Uint8Array {
  const parts: number[] = [];
  put(parts, SetData.keyByteOrder, u32(byteOrder([key])));
  if (isVerdictMap) {
    put(parts, SetData.dataByteOrder, u32(ByteOrder.none));
    put(parts, SetData.dataTypeof, typeofExpression(ExprType.verdict, []));
    put(parts, SetData.dataInterval, u32(0));
  }
  return Uint8Array.from(parts);
}

/** Whether `nft` can print the set only by `typeof`. */
export function needsTypeof(set: NftSet): boolean {
  return set.key.includes("index") ||
    (set.value !== undefined && set.value !== "verdict" && set.value.includes("index"));
}

/** User data that holds a comment of a rule, a chain or an element (all three have the same number). */
export function commentUserData(comment: string): Uint8Array {
  const parts: number[] = [];
  put(parts, RULE_COMMENT, zeroTerminated(comment));
  return Uint8Array.from(parts);
}

/** User data of an interval that ends at the highest address: it has no end element. */
export function openIntervalUserData(comment: string | undefined): Uint8Array {
  const parts: number[] = [];
  put(parts, ELEMENT_FLAGS, u32(INTERVAL_OPEN));
  if (comment !== undefined) put(parts, ELEMENT_COMMENT, zeroTerminated(comment));
  return Uint8Array.from(parts);
}

/** The comment in a set's user data. */
export function readSetComment(userData: Uint8Array): string | undefined {
  return readText(userData, SetData.comment);
}

/** The comment in the user data of a rule, a chain or an element. */
export function readComment(userData: Uint8Array): string | undefined {
  return readText(userData, CHAIN_COMMENT);
}

function readText(userData: Uint8Array, type: number): string | undefined {
  for (let at = 0; at + 2 <= userData.length;) {
    const length = userData[at + 1];
    const value = userData.subarray(at + 2, at + 2 + length);
    if (userData[at] === type) {
      return decoder.decode(value.at(-1) === 0 ? value.subarray(0, -1) : value);
    }
    at += 2 + length;
  }
  return undefined;
}

function byteOrder(fields: readonly NftFieldType[]): number {
  if (fields.length !== 1) return ByteOrder.none;
  const [field] = fields;
  return field === "index" || field === "inet_proto" ? ByteOrder.host : ByteOrder.big;
}

/** `ip daddr . meta l4proto . th dport . numgen random mod 2` as nft 1.0.6 writes it. */
function typeofFields(fields: readonly NftFieldType[], family: NftFamily): number[] {
  const each = fields.map((field) => typeofField(field, family));
  if (each.length === 1) return each[0];
  const list: number[] = [];
  for (const [i, one] of each.entries()) put(list, i, one);
  return typeofExpression(ExprType.concat, list);
}

function typeofField(field: NftFieldType, family: NftFamily): number[] {
  const data: number[] = [];
  switch (field) {
    case "addr": {
      const { typeofHeader, typeofDaddr } = familyFacts(family);
      put(data, 0, u32(typeofHeader));
      put(data, 1, u32(typeofDaddr));
      return typeofExpression(ExprType.payload, data);
    }
    case "inet_proto":
      put(data, 0, u32(META_L4PROTO));
      return typeofExpression(ExprType.meta, data);
    case "inet_service":
      put(data, 0, u32(TRANSPORT_HEADER));
      put(data, 1, u32(TRANSPORT_DPORT));
      return typeofExpression(ExprType.payload, data);
    case "index":
      put(data, 0, u32(NUMGEN_RANDOM));
      put(data, 1, u32(TYPEOF_MODULUS));
      put(data, 2, u32(0));
      return typeofExpression(ExprType.numgen, data);
  }
}

function typeofExpression(kind: number, data: readonly number[]): number[] {
  const parts: number[] = [];
  put(parts, TYPEOF_KIND, u32(kind));
  put(parts, TYPEOF_DATA, data);
  return parts;
}

function put(parts: number[], type: number, value: readonly number[]): void {
  if (value.length > 0xff) {
    throw new RangeError(
      `Cannot store ${value.length} bytes beside an nf_tables object: 255 is the most; shorten the comment`,
    );
  }
  parts.push(type, value.length, ...value);
}

/** In the machine's own order, as nft writes it. */
function u32(value: number): number[] {
  return [...new Uint8Array(Uint32Array.of(value).buffer)];
}

function zeroTerminated(text: string): number[] {
  return [...encoder.encode(text), 0];
}
