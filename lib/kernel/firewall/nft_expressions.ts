/** Rules of anybody as they stand in a dump of nf_tables. */
import type { IpFamily } from "../../base/ip_family.ts";
import { readAttributes, readList, readString, readU32be } from "../netlink/attributes.ts";
import {
  BitwiseAttr,
  CmpAttr,
  CtAttr,
  DynsetAttr,
  ExprAttr,
  FibAttr,
  ImmediateAttr,
  LOOKUP_NOT,
  LookupAttr,
  MetaAttr,
  PayloadAttr,
  PayloadBase,
  RANGE_NOT,
  RangeAttr,
} from "../nf_tables/expression_wire.ts";
import { verdictOfCode } from "../nf_tables/verdict.ts";
import { DataAttr, ListAttr, VerdictAttr } from "../nf_tables/wire.ts";
import { structureOf } from "../xtables/expression_parts.ts";
import type { FirewallExpression, FirewallSet, FirewallVerdict } from "./firewall.ts";
import { matchExpressions, targetExpressions } from "./xt_expressions.ts";

type Attributes = ReadonlyMap<number, Uint8Array>;

/** What a rule's expressions are read with. */
export interface ExpressionContext {
  /** The set of that name, once its elements were read. */
  readonly setOf: (name: string) => FirewallSet | undefined;
  /** In which form xtables' structures are. */
  readonly family: IpFamily;
}

/** The steps of a rule, from NFTA_RULE_EXPRESSIONS. */
export function readExpressions(
  list: Uint8Array,
  context: ExpressionContext,
): readonly FirewallExpression[] {
  return readList(list, ListAttr.element).flatMap((each) => {
    const attributes = readAttributes(each);
    const name = readString(attributes.get(ExprAttr.name) ?? empty);
    const bytes = attributes.get(ExprAttr.data) ?? empty;
    if (name === "match") return matchExpressions(structureOf(bytes), context.family);
    if (name === "target") return targetExpressions(structureOf(bytes), context.family);
    return [readExpression(name, readAttributes(bytes), context)];
  });
}

/** The names of the sets that a rule looks into. */
export function setNamesOf(list: Uint8Array): readonly string[] {
  return readList(list, ListAttr.element).flatMap((each) => {
    const attributes = readAttributes(each);
    if (readString(attributes.get(ExprAttr.name) ?? empty) !== "lookup") return [];
    const name = readAttributes(attributes.get(ExprAttr.data) ?? empty).get(LookupAttr.set);
    return name ? [readString(name)] : [];
  });
}

/** A verdict as its attributes say it; undefined for one that we do not know (queue). */
function readVerdict(verdict: Uint8Array): FirewallVerdict | undefined {
  const attributes = readAttributes(verdict);
  const chain = attributes.get(VerdictAttr.chain);
  return firewallVerdict(number(attributes, VerdictAttr.code), chain && readString(chain));
}

/** A verdict by its number, also that which only goes on. */
export function firewallVerdict(
  code: number,
  chain: string | undefined,
): FirewallVerdict | undefined {
  return code === CONTINUE ? { kind: "continue" } : verdictOfCode(code, chain);
}

const empty: Uint8Array = new Uint8Array();
/** NFT_CONTINUE. */
const CONTINUE = 0xffffffff;

function readExpression(
  name: string,
  data: Attributes,
  context: ExpressionContext,
): FirewallExpression {
  switch (name) {
    case "payload":
      return readPayload(data);
    case "meta":
      return data.has(MetaAttr.from)
        ? { kind: "set-meta", key: number(data, MetaAttr.key), from: number(data, MetaAttr.from) }
        : { kind: "meta", key: number(data, MetaAttr.key), into: number(data, MetaAttr.into) };
    case "ct":
      return readCt(data);
    case "fib":
      return {
        kind: "fib",
        result: number(data, FibAttr.result),
        flags: number(data, FibAttr.flags),
        into: number(data, FibAttr.into),
      };
    case "immediate":
      return readImmediate(data);
    case "cmp":
      return {
        kind: "cmp",
        from: number(data, CmpAttr.from),
        op: number(data, CmpAttr.op),
        value: value(data, CmpAttr.data),
      };
    case "range":
      return {
        kind: "range",
        from: number(data, RangeAttr.from),
        not: number(data, RangeAttr.op) === RANGE_NOT,
        first: value(data, RangeAttr.first),
        last: value(data, RangeAttr.last),
      };
    case "bitwise":
      return readBitwise(data);
    case "lookup":
      return readLookup(data, context);
    default:
      return readOther(name, data);
  }
}

/** What decides, changes or loads something that nobody can foretell, and what does none of it. */
function readOther(name: string, data: Attributes): FirewallExpression {
  switch (name) {
    case "reject":
      return { kind: "reject" };
    case "nat":
    case "masq":
    case "redir":
      return { kind: "translate", what: name };
    case "counter":
    case "log":
    case "last":
    case "notrack":
    case "dup":
    case "flow_offload":
      return { kind: "passive", what: name };
    case "dynset":
      return data.has(DynsetAttr.expr) || data.has(DynsetAttr.expressions) ||
          number(data, DynsetAttr.op) === DYNSET_DELETE
        ? { kind: "match-unknown", what: "a set that the packet itself changes" }
        : { kind: "passive", what: name };
    case "objref":
      return number(data, OBJREF_TYPE) === OBJECT_COUNTER
        ? { kind: "passive", what: "counter" }
        : { kind: "match-unknown", what: "a quota, limit or other object" };
    case "limit":
    case "quota":
    case "connlimit":
      return { kind: "match-unknown", what: name };
    default:
      return readLoad(name, data);
  }
}

/** Each of these has the number of its destination register in another attribute. */
const loads: Readonly<Record<string, number>> = {
  byteorder: 2,
  exthdr: 1,
  hash: 2,
  numgen: 1,
  osf: 1,
  rt: 1,
  socket: 2,
  tunnel: 2,
  xfrm: 1,
};
const DYNSET_DELETE = 2;
const OBJREF_TYPE = 1;
const OBJECT_COUNTER = 1;

function readLoad(name: string, data: Attributes): FirewallExpression {
  const into = loads[name] === undefined ? 0 : number(data, loads[name]);
  if (into !== 0) return { kind: "load-unknown", what: name, into };
  return { kind: "decide-unknown", what: `expression "${name}"` };
}

function readPayload(data: Attributes): FirewallExpression {
  if (!data.has(PayloadAttr.into)) return { kind: "decide-unknown", what: "a changed packet" };
  const base = number(data, PayloadAttr.base);
  return {
    kind: "payload",
    base: base === PayloadBase.network
      ? "network"
      : base === PayloadBase.transport
      ? "transport"
      : "other",
    offset: number(data, PayloadAttr.offset),
    length: number(data, PayloadAttr.length),
    into: number(data, PayloadAttr.into),
  };
}

function readCt(data: Attributes): FirewallExpression {
  if (!data.has(CtAttr.into)) return { kind: "passive", what: "ct" };
  const into = number(data, CtAttr.into);
  // Both directions of a new connection are known to nobody yet.
  const isReply = data.get(CtAttr.direction)?.[0] === 1;
  if (isReply) return { kind: "load-unknown", what: "ct reply", into };
  return { kind: "ct", key: number(data, CtAttr.key), into };
}

function readImmediate(data: Attributes): FirewallExpression {
  const content = readAttributes(data.get(ImmediateAttr.data) ?? empty);
  const verdict = content.get(DataAttr.verdict);
  if (!verdict) {
    return {
      kind: "immediate",
      into: number(data, ImmediateAttr.into),
      value: (content.get(DataAttr.value) ?? empty).slice(),
    };
  }
  const read = readVerdict(verdict);
  return read ? { kind: "verdict", verdict: read } : { kind: "decide-unknown", what: "a queue" };
}

function readBitwise(data: Attributes): FirewallExpression {
  const into = number(data, BitwiseAttr.into);
  const mask = value(data, BitwiseAttr.mask);
  const xor = value(data, BitwiseAttr.xor);
  // Newer kernels shift and combine registers too.
  if (number(data, BitwiseAttr.op) !== 0 || mask.length === 0 || mask.length !== xor.length) {
    return { kind: "load-unknown", what: "bitwise", into };
  }
  return { kind: "bitwise", from: number(data, BitwiseAttr.from), into, mask, xor };
}

function readLookup(data: Attributes, { setOf }: ExpressionContext): FirewallExpression {
  const setName = readString(data.get(LookupAttr.set) ?? empty);
  return {
    kind: "lookup",
    set: setOf(setName),
    setName,
    from: number(data, LookupAttr.from),
    ...(data.has(LookupAttr.into) && { into: number(data, LookupAttr.into) }),
    not: (number(data, LookupAttr.flags) & LOOKUP_NOT) !== 0,
  };
}

/** A 32-bit number in network order; 0 when it is absent, as the kernel means it. */
function number(data: Attributes, type: number): number {
  const found = data.get(type);
  return found ? readU32be(found) : 0;
}

function value(data: Attributes, type: number): Uint8Array {
  const nested = data.get(type);
  return (nested && readAttributes(nested).get(DataAttr.value)?.slice()) ?? empty;
}
