/**
 * Expressions of a dump in the form that lower_rule.ts makes. The kernel adds attributes that we do
 * not send (`addr_max` equal to `addr_min`, `op` of bitwise, flags that are 0) and replaces names of
 * anonymous sets by its own: the former are read as defaults, the latter are compared by content.
 * What is not of our language gives undefined, and such a rule equals no rule of ours.
 */
import {
  readAttributes,
  readList,
  readString,
  readU32be,
  readU64be,
} from "../netlink/attributes.ts";
import { verdictOf } from "./decode_elements.ts";
import {
  type AnonymousSet,
  type Expression,
  Fib,
  type LookupTarget,
  NatFlag,
  RejectType,
} from "./expressions.ts";
import {
  BitwiseAttr,
  CmpAttr,
  CtAttr,
  DYNSET_UPDATE,
  DynsetAttr,
  ExprAttr,
  FibAttr,
  ImmediateAttr,
  LOOKUP_NOT,
  LookupAttr,
  MasqAttr,
  MetaAttr,
  NAT_DNAT,
  NatAttr,
  NUMGEN_RANDOM,
  NumgenAttr,
  PayloadAttr,
  PayloadBase,
  RANGE_NOT,
  RangeAttr,
  RejectAttr,
} from "../nf_tables/expression_wire.ts";
import { DataAttr, ListAttr, VerdictAttr } from "../nf_tables/wire.ts";

type Attributes = ReadonlyMap<number, Uint8Array>;

/** The expressions of a rule's list, or undefined when one is not of our language. */
export function decodeExpressions(
  list: Uint8Array,
  anonymousSets: ReadonlyMap<string, AnonymousSet>,
): readonly Expression[] | undefined {
  const found: Expression[] = [];
  for (const each of readList(list, ListAttr.element)) {
    const attributes = readAttributes(each);
    const name = attributes.get(ExprAttr.name);
    const data = readAttributes(attributes.get(ExprAttr.data) ?? new Uint8Array());
    const expression = name && decodeExpression(readString(name), { data, anonymousSets });
    if (!expression) return undefined;
    found.push(expression);
  }
  return found;
}

interface ExpressionInput {
  readonly data: Attributes;
  readonly anonymousSets: ReadonlyMap<string, AnonymousSet>;
}

function decodeExpression(
  name: string,
  { data, anonymousSets }: ExpressionInput,
): Expression | undefined {
  switch (name) {
    case "payload":
      return decodePayload(data);
    case "meta":
      return decodeMeta(data);
    case "ct":
      if (data.has(CtAttr.direction)) return undefined;
      return { kind: "ct", key: number(data, CtAttr.key), into: number(data, CtAttr.into) };
    case "fib":
      if (number(data, FibAttr.result) !== Fib.resultType) return undefined;
      return { kind: "fib", flags: number(data, FibAttr.flags), into: number(data, FibAttr.into) };
    case "numgen":
      if (number(data, NumgenAttr.type) !== NUMGEN_RANDOM) return undefined;
      return {
        kind: "numgen",
        modulus: number(data, NumgenAttr.modulus),
        offset: number(data, NumgenAttr.offset),
        into: number(data, NumgenAttr.into),
      };
    case "cmp":
      return decodeCmp(data);
    case "range":
      return decodeRange(data);
    case "bitwise":
      return decodeBitwise(data);
    case "lookup":
      return decodeLookup(data, anonymousSets);
    case "immediate":
      return decodeImmediate(data);
    case "dynset":
      return decodeDynset(data);
    case "nat":
      return decodeNat(data);
    case "masq":
      if (data.has(MasqAttr.portMin) || data.has(MasqAttr.portMax)) return undefined;
      return { kind: "masq", flags: number(data, MasqAttr.flags) };
    case "reject":
      return decodeReject(data);
    default:
      return undefined;
  }
}

function decodePayload(data: Attributes): Expression | undefined {
  const base = number(data, PayloadAttr.base);
  if (base !== PayloadBase.network && base !== PayloadBase.transport) return undefined;
  if (!data.has(PayloadAttr.into)) return undefined;
  return {
    kind: "payload",
    base: base === PayloadBase.network ? "network" : "transport",
    offset: number(data, PayloadAttr.offset),
    length: number(data, PayloadAttr.length),
    into: number(data, PayloadAttr.into),
  };
}

function decodeMeta(data: Attributes): Expression {
  const key = number(data, MetaAttr.key);
  return data.has(MetaAttr.from)
    ? { kind: "meta-set", key, from: number(data, MetaAttr.from) }
    : { kind: "meta", key, into: number(data, MetaAttr.into) };
}

function decodeCmp(data: Attributes): Expression | undefined {
  const value = dataValue(data, CmpAttr.data);
  if (!value) return undefined;
  return {
    kind: "cmp",
    op: number(data, CmpAttr.op),
    from: number(data, CmpAttr.from),
    data: value,
  };
}

function decodeRange(data: Attributes): Expression | undefined {
  const first = dataValue(data, RangeAttr.first);
  const last = dataValue(data, RangeAttr.last);
  if (!first || !last || number(data, RangeAttr.op) !== RANGE_NOT) return undefined;
  return { kind: "range-not", from: number(data, RangeAttr.from), first, last };
}

function decodeBitwise(data: Attributes): Expression | undefined {
  const mask = dataValue(data, BitwiseAttr.mask);
  const xor = dataValue(data, BitwiseAttr.xor);
  if (!mask || !xor || number(data, BitwiseAttr.op) !== 0) return undefined;
  const from = number(data, BitwiseAttr.from);
  return { kind: "bitwise", from, into: number(data, BitwiseAttr.into), mask, xor };
}

function decodeLookup(
  data: Attributes,
  anonymousSets: ReadonlyMap<string, AnonymousSet>,
): Expression {
  const name = readString(data.get(LookupAttr.set) ?? new Uint8Array());
  const set = anonymousSets.get(name);
  const target: LookupTarget = set ? { kind: "anonymous", set } : { kind: "named", name };
  return {
    kind: "lookup",
    target,
    from: number(data, LookupAttr.from),
    ...(data.has(LookupAttr.into) && { into: number(data, LookupAttr.into) }),
    not: (number(data, LookupAttr.flags) & LOOKUP_NOT) !== 0,
  };
}

function decodeImmediate(data: Attributes): Expression | undefined {
  const value = readAttributes(data.get(ImmediateAttr.data) ?? new Uint8Array());
  const plain = value.get(DataAttr.value);
  if (plain) {
    return { kind: "immediate", into: number(data, ImmediateAttr.into), data: plain.slice() };
  }
  const verdict = readAttributes(value.get(DataAttr.verdict) ?? new Uint8Array());
  const decoded = verdictOf(
    number(verdict, VerdictAttr.code),
    verdict.get(VerdictAttr.chain) ?? new Uint8Array(),
  );
  return decoded && { kind: "verdict", verdict: decoded };
}

function decodeDynset(data: Attributes): Expression | undefined {
  const isPlain = number(data, DynsetAttr.op) === DYNSET_UPDATE && !data.has(DynsetAttr.data) &&
    !data.has(DynsetAttr.expr) && !data.has(DynsetAttr.expressions) &&
    number(data, DynsetAttr.flags) === 0;
  const set = data.get(DynsetAttr.set);
  if (!isPlain || !set) return undefined;
  const timeout = data.get(DynsetAttr.timeout);
  return {
    kind: "update-set",
    set: readString(set),
    key: number(data, DynsetAttr.key),
    timeoutSeconds: timeout ? Number(readU64be(timeout)) / 1000 : 0,
  };
}

function decodeNat(data: Attributes): Expression | undefined {
  const address = number(data, NatAttr.addressMin);
  const port = data.has(NatAttr.portMin) ? number(data, NatAttr.portMin) : undefined;
  const isSingle = sameOrAbsent(data, NatAttr.addressMax, address) &&
    sameOrAbsent(data, NatAttr.portMax, port);
  if (number(data, NatAttr.type) !== NAT_DNAT || address === 0 || !isSingle) return undefined;
  // Some kernels leave out the flags that follow from the registers.
  const implied = NatFlag.address | (port === undefined ? 0 : NatFlag.port);
  const flags = number(data, NatAttr.flags) | implied;
  const nfproto = number(data, NatAttr.nfproto);
  return { kind: "dnat", nfproto, address, ...(port !== undefined && { port }), flags };
}

function decodeReject(data: Attributes): Expression {
  const type = number(data, RejectAttr.type);
  const code = type === RejectType.tcpReset ? 0 : data.get(RejectAttr.code)?.[0] ?? 0;
  return { kind: "reject", type, code };
}

function sameOrAbsent(data: Attributes, type: number, expected: number | undefined): boolean {
  return !data.has(type) || number(data, type) === expected;
}

/** A 32-bit number in network order; 0 when it is absent, as the kernel means it. */
function number(data: Attributes, type: number): number {
  const value = data.get(type);
  return value ? readU32be(value) : 0;
}

function dataValue(data: Attributes, type: number): Uint8Array | undefined {
  const nested = data.get(type);
  return nested && readAttributes(nested).get(DataAttr.value)?.slice();
}
