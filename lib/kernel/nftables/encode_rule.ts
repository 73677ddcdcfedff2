/** Expressions, and the sets that belong to one rule, as netlink attributes. */
import { assertNever } from "../../base/assert_never.ts";
import type { MessageWriter } from "../netlink/writer.ts";
import { writeVerdict } from "./encode_elements.ts";
import type { AnonymousElement, AnonymousSet, Expression, LookupTarget } from "./expressions.ts";
import { Fib } from "./expressions.ts";
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
import { anonymousSetUserData, openIntervalUserData } from "./user_data.ts";
import {
  DataAttr,
  ElemAttr,
  ElemFlag,
  ListAttr,
  SetAttr,
  SetDescAttr,
  SetFlag,
  TypeId,
} from "../nf_tables/wire.ts";

/** The placeholder that the kernel replaces by a name of its own. */
const ANONYMOUS_SET = "__set%d";
const ANONYMOUS_MAP = "__map%d";

/** The name to write for a set that belongs to a rule. */
function anonymousSetName(set: AnonymousSet): string {
  return set.isVerdictMap ? ANONYMOUS_MAP : ANONYMOUS_SET;
}

/** Writes the attributes of NEWSET behind the table's name. */
export function writeAnonymousSet(writer: MessageWriter, set: AnonymousSet, id: number): void {
  const flags = SetFlag.anonymous | SetFlag.constant | (set.interval ? SetFlag.interval : 0) |
    (set.isVerdictMap ? SetFlag.map : 0);
  writer.string(SetAttr.name, anonymousSetName(set));
  writer.u32be(SetAttr.flags, flags);
  writer.u32be(SetAttr.keyType, set.keyTypeId);
  writer.u32be(SetAttr.keyLength, set.keyBytes);
  if (set.isVerdictMap) {
    writer.u32be(SetAttr.dataType, TypeId.verdict);
    writer.u32be(SetAttr.dataLength, 0);
  }
  writer.u32be(SetAttr.id, id);
  const desc = writer.beginNested(SetAttr.desc);
  writer.u32be(SetDescAttr.size, set.elements.length);
  writer.endNested(desc);
  writer.raw(SetAttr.userData, anonymousSetUserData(set.keyField, set.isVerdictMap));
}

/** Appends an element to the open element list. */
export function writeAnonymousElement(writer: MessageWriter, element: AnonymousElement): void {
  const start = writer.beginNested(ListAttr.element);
  if (element.isEnd) writer.u32be(ElemAttr.flags, ElemFlag.intervalEnd);
  writeData(writer, { type: ElemAttr.key, data: element.key });
  if (element.verdict) {
    const data = writer.beginNested(ElemAttr.data);
    writeVerdict(writer, element.verdict);
    writer.endNested(data);
  }
  if (element.isOpen) writer.raw(ElemAttr.userData, openIntervalUserData(undefined));
  writer.endNested(start);
}

/** Writes the expressions of a rule; `idOf` gives the number under which an anonymous set was sent before. */
export function writeExpressions(
  writer: MessageWriter,
  expressions: readonly Expression[],
  idOf: (set: AnonymousSet) => number,
): void {
  for (const expression of expressions) {
    const start = writer.beginNested(ListAttr.element);
    writer.string(ExprAttr.name, kernelName(expression));
    const data = writer.beginNested(ExprAttr.data);
    writeExpression(writer, expression, idOf);
    writer.endNested(data);
    writer.endNested(start);
  }
}

function kernelName(expression: Expression): string {
  switch (expression.kind) {
    case "meta-set":
      return "meta";
    case "verdict":
      return "immediate";
    case "range-not":
      return "range";
    case "update-set":
      return "dynset";
    case "dnat":
      return "nat";
    default:
      return expression.kind;
  }
}

function writeExpression(
  writer: MessageWriter,
  expression: Expression,
  idOf: (set: AnonymousSet) => number,
): void {
  switch (expression.kind) {
    case "lookup":
      writeTarget(writer, expression.target, idOf);
      writer.u32be(LookupAttr.from, expression.from);
      if (expression.into !== undefined) writer.u32be(LookupAttr.into, expression.into);
      if (expression.not) writer.u32be(LookupAttr.flags, LOOKUP_NOT);
      return;
    case "verdict": {
      writer.u32be(ImmediateAttr.into, 0);
      const data = writer.beginNested(ImmediateAttr.data);
      writeVerdict(writer, expression.verdict);
      writer.endNested(data);
      return;
    }
    case "update-set":
      writer.string(DynsetAttr.set, expression.set);
      writer.u32be(DynsetAttr.op, DYNSET_UPDATE);
      writer.u32be(DynsetAttr.key, expression.key);
      if (expression.timeoutSeconds !== 0) {
        writer.u64be(DynsetAttr.timeout, BigInt(expression.timeoutSeconds) * 1000n);
      }
      return;
    case "dnat":
    case "masq":
    case "reject":
      writeTerminal(writer, expression);
      return;
    default:
      writeRegisters(writer, expression);
  }
}

/** What only fills, compares and changes registers. */
type RegisterExpression = Exclude<
  Expression,
  { kind: "lookup" | "verdict" | "update-set" | "dnat" | "masq" | "reject" }
>;

function writeRegisters(writer: MessageWriter, expression: RegisterExpression): void {
  switch (expression.kind) {
    case "payload":
      writer.u32be(PayloadAttr.into, expression.into);
      writer.u32be(PayloadAttr.base, PayloadBase[expression.base]);
      writer.u32be(PayloadAttr.offset, expression.offset);
      writer.u32be(PayloadAttr.length, expression.length);
      return;
    case "meta":
      writer.u32be(MetaAttr.key, expression.key);
      writer.u32be(MetaAttr.into, expression.into);
      return;
    case "meta-set":
      writer.u32be(MetaAttr.key, expression.key);
      writer.u32be(MetaAttr.from, expression.from);
      return;
    case "ct":
      writer.u32be(CtAttr.key, expression.key);
      writer.u32be(CtAttr.into, expression.into);
      return;
    case "fib":
      writer.u32be(FibAttr.flags, expression.flags);
      writer.u32be(FibAttr.result, Fib.resultType);
      writer.u32be(FibAttr.into, expression.into);
      return;
    case "numgen":
      writer.u32be(NumgenAttr.into, expression.into);
      writer.u32be(NumgenAttr.modulus, expression.modulus);
      writer.u32be(NumgenAttr.type, NUMGEN_RANDOM);
      writer.u32be(NumgenAttr.offset, expression.offset);
      return;
    case "cmp":
      writer.u32be(CmpAttr.from, expression.from);
      writer.u32be(CmpAttr.op, expression.op);
      writeData(writer, { type: CmpAttr.data, data: expression.data });
      return;
    case "range-not":
      writer.u32be(RangeAttr.from, expression.from);
      writer.u32be(RangeAttr.op, RANGE_NOT);
      writeData(writer, { type: RangeAttr.first, data: expression.first });
      writeData(writer, { type: RangeAttr.last, data: expression.last });
      return;
    case "bitwise":
      writer.u32be(BitwiseAttr.from, expression.from);
      writer.u32be(BitwiseAttr.into, expression.into);
      writer.u32be(BitwiseAttr.length, expression.mask.length);
      writeData(writer, { type: BitwiseAttr.mask, data: expression.mask });
      writeData(writer, { type: BitwiseAttr.xor, data: expression.xor });
      return;
    case "immediate":
      writer.u32be(ImmediateAttr.into, expression.into);
      writeData(writer, { type: ImmediateAttr.data, data: expression.data });
      return;
    default:
      assertNever(expression);
  }
}

/** What ends a rule and knows no set. */
function writeTerminal(
  writer: MessageWriter,
  expression: Extract<Expression, { kind: "dnat" | "masq" | "reject" }>,
): void {
  switch (expression.kind) {
    case "dnat":
      writer.u32be(NatAttr.type, NAT_DNAT);
      writer.u32be(NatAttr.nfproto, expression.nfproto);
      writer.u32be(NatAttr.addressMin, expression.address);
      if (expression.port !== undefined) writer.u32be(NatAttr.portMin, expression.port);
      writer.u32be(NatAttr.flags, expression.flags);
      return;
    case "masq":
      if (expression.flags !== 0) writer.u32be(MasqAttr.flags, expression.flags);
      return;
    case "reject":
      writer.u32be(RejectAttr.type, expression.type);
      writer.u8(RejectAttr.code, expression.code);
      return;
    default:
      assertNever(expression);
  }
}

function writeTarget(
  writer: MessageWriter,
  target: LookupTarget,
  idOf: (set: AnonymousSet) => number,
): void {
  if (target.kind === "named") {
    writer.string(LookupAttr.set, target.name);
    return;
  }
  writer.string(LookupAttr.set, anonymousSetName(target.set));
  writer.u32be(LookupAttr.setId, idOf(target.set));
}

function writeData(
  writer: MessageWriter,
  { type, data }: { readonly type: number; readonly data: Uint8Array },
): void {
  const start = writer.beginNested(type);
  writer.raw(DataAttr.value, data);
  writer.endNested(start);
}
