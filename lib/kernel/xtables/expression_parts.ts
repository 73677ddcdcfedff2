/** The parts of nf_tables expressions that rules of iptables are made of, as they stand in a dump. */
import { forEachAttribute, readString, readU32be } from "../netlink/attributes.ts";
import {
  BitwiseAttr,
  CmpAttr,
  ExprAttr,
  ImmediateAttr,
  MetaAttr,
  PayloadAttr,
  PayloadBase,
  XtAttr,
} from "../nf_tables/expression_wire.ts";
import { verdictOfCode } from "../nf_tables/verdict.ts";
import { DataAttr, VerdictAttr } from "../nf_tables/wire.ts";
import type { XtTarget } from "./rules.ts";
import type { XtStructure } from "./structure.ts";

const empty: Uint8Array = new Uint8Array();

/** What was loaded into the register, with the mask over it. */
export interface Loaded {
  readonly kind: "payload" | "meta";
  /** Of the payload: `PayloadBase`; of meta: its key. */
  readonly what: number;
  readonly offset: number;
  readonly length: number;
  readonly mask?: Uint8Array;
}

/** What a `cmp` compares with. */
export interface Comparison {
  readonly op: number;
  readonly value: Uint8Array;
}

/** Name and attributes of an expression. */
export function partsOf(
  expression: Uint8Array,
): { readonly name: string; readonly data: Uint8Array } {
  let name = "";
  let data = empty;
  forEachAttribute(expression, (type, value) => {
    if (type === ExprAttr.name) name = shortText(value);
    else if (type === ExprAttr.data) data = value;
  });
  return { name, data };
}

/** The chain that some rule leads to, whatever else it says. */
export function jumpOfExpressions(list: Uint8Array): string | undefined {
  let found: string | undefined;
  forEachAttribute(list, (_, value) => {
    const { data, name } = partsOf(value);
    const verdict = name === "immediate" ? verdictOf(data) : undefined;
    if (verdict && "chain" in verdict) found = verdict.chain;
  });
  return found;
}

/** A load of the packet; undefined for what writes to it or loads from elsewhere. */
export function payloadOf(bytes: Uint8Array): Loaded | undefined {
  let what = 0;
  let offset = 0;
  let length = 0;
  let isLoad = false;
  forEachAttribute(bytes, (type, value) => {
    if (type === PayloadAttr.base) what = readU32be(value);
    else if (type === PayloadAttr.offset) offset = readU32be(value);
    else if (type === PayloadAttr.length) length = readU32be(value);
    else if (type === PayloadAttr.into) isLoad = true;
  });
  const isKnown = what === PayloadBase.network || what === PayloadBase.transport;
  return isLoad && isKnown ? { kind: "payload", what, offset, length } : undefined;
}

/** A load of what the kernel knows of the packet. */
export function metaOf(bytes: Uint8Array): Loaded | undefined {
  let what = 0;
  let isLoad = false;
  forEachAttribute(bytes, (type, value) => {
    if (type === MetaAttr.key) what = readU32be(value);
    else if (type === MetaAttr.into) isLoad = true;
  });
  return isLoad ? { kind: "meta", what, offset: 0, length: 4 } : undefined;
}

/** The structure of a `match` or `target`. */
export function structureOf(bytes: Uint8Array): XtStructure {
  let name = "";
  let revision = 0;
  let info = empty;
  forEachAttribute(bytes, (type, value) => {
    if (type === XtAttr.name) name = shortText(value);
    else if (type === XtAttr.revision) revision = readU32be(value);
    else if (type === XtAttr.info) info = value;
  });
  return { name, revision, info };
}

/** The verdict of an `immediate`; undefined for other data. */
export function verdictOf(immediate: Uint8Array): XtTarget | undefined {
  let code: number | undefined;
  let chain: string | undefined;
  forEachAttribute(immediate, (type, data) => {
    if (type !== ImmediateAttr.data) return;
    forEachAttribute(data, (kind, verdict) => {
      if (kind !== DataAttr.verdict) return;
      forEachAttribute(verdict, (attribute, value) => {
        if (attribute === VerdictAttr.code) code = readU32be(value);
        else if (attribute === VerdictAttr.chain) chain = readString(value);
      });
    });
  });
  return code === undefined ? undefined : verdictOfCode(code, chain);
}

/** The mask of a `bitwise` that only masks. */
export function maskOf(bytes: Uint8Array): Uint8Array | undefined {
  let mask = empty;
  let isPlain = true;
  forEachAttribute(bytes, (type, value) => {
    if (type === BitwiseAttr.mask) mask = dataValue(value);
    else if (type === BitwiseAttr.xor) isPlain &&= dataValue(value).every((byte) => byte === 0);
    else if (type === BitwiseAttr.op) isPlain &&= readU32be(value) === 0;
  });
  return isPlain ? mask : undefined;
}

/** What a `cmp` says. */
export function comparisonOf(bytes: Uint8Array): Comparison {
  let op = 0;
  let value = empty;
  forEachAttribute(bytes, (type, each) => {
    if (type === CmpAttr.op) op = readU32be(each);
    else if (type === CmpAttr.data) value = dataValue(each);
  });
  return { op, value };
}

function dataValue(bytes: Uint8Array): Uint8Array {
  let found = empty;
  forEachAttribute(bytes, (type, value) => {
    if (type === DataAttr.value) found = value;
  });
  return found;
}

/** Names of expressions are short: a decoder takes longer to start. */
function shortText(value: Uint8Array): string {
  let text = "";
  for (const byte of value) {
    if (byte === 0) break;
    text += String.fromCharCode(byte);
  }
  return text;
}
