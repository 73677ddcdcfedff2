/**
 * A rule as nf_tables expressions, in the form and order of iptables-nft 1.8.9: interfaces, protocol,
 * addresses, the tests behind `-m` in their order, a counter, the target.
 */
import { assertNever } from "../../base/assert_never.ts";
import { parseCidr } from "../../base/ip.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import type { MessageWriter } from "../netlink/writer.ts";
import {
  BitwiseAttr,
  CmpAttr,
  CounterAttr,
  ExprAttr,
  ImmediateAttr,
  MetaAttr,
  PayloadAttr,
  PayloadBase,
  XtAttr,
} from "../nf_tables/expression_wire.ts";
import { DataAttr, ListAttr, VerdictAttr, VerdictCode } from "../nf_tables/wire.ts";
import { type XtFamilyFacts, xtFamilyFacts } from "./family.ts";
import {
  type XtAddress,
  type XtInterface,
  type XtMatch,
  xtProtocolNumbers,
  type XtRule,
  type XtTarget,
} from "./rules.ts";
import { noSets, type XtSets } from "./sets.ts";
import type { XtStructure } from "./structure.ts";
import { matchStructure, targetStructure } from "./structures.ts";

/** The register that every test uses. */
const REGISTER = 1;
export const CmpOp = { eq: 0, neq: 1 } as const;
export const MetaKey = { mark: 3, iifname: 6, oifname: 7, l4proto: 16 } as const;
/** What is done with a mask; an older kernel knows nothing else. */
const MASK_AND_XOR = 0;
/** Where the destination port stands in the transport header. */
export const DESTINATION_PORT = 2;
const encoder = new TextEncoder();

/** What `writeExpressions` writes. */
export interface WriteExpressionsOptions {
  readonly rule: XtRule;
  readonly family: IpFamily;
  /** Those that the rule may look into. */
  readonly sets?: XtSets;
  /** As the kernel tells what it was given: kernels since 5.6 name the operation of a mask. */
  readonly isAnswer?: boolean;
}

/** Writes the members of the expression list. Throws `TypeError` for what no rule can say. */
export function writeExpressions(
  writer: MessageWriter,
  { family, isAnswer = false, rule, sets = noSets }: WriteExpressionsOptions,
): void {
  const facts = xtFamilyFacts(family);
  if (rule.inInterface) writeInterface(writer, MetaKey.iifname, rule.inInterface);
  if (rule.outInterface) writeInterface(writer, MetaKey.oifname, rule.outInterface);
  if (rule.protocol) {
    writeMeta(writer, MetaKey.l4proto);
    writeCmp(writer, CmpOp.eq, Uint8Array.of(xtProtocolNumbers[rule.protocol]));
  }
  if (rule.source) {
    writeAddress(writer, rule.source, { facts, isAnswer, offset: facts.sourceOffset });
  }
  if (rule.destination) {
    writeAddress(writer, rule.destination, { facts, isAnswer, offset: facts.destinationOffset });
  }
  for (const match of rule.matches) writeMatch(writer, match, { isAnswer, sets });
  expression(writer, "counter", () => {
    writer.u64be(CounterAttr.bytes, 0n);
    writer.u64be(CounterAttr.packets, 0n);
  });
  if (rule.target) writeTarget(writer, rule.target, family);
}

function writeInterface(writer: MessageWriter, key: number, { name, not }: XtInterface): void {
  writeMeta(writer, key);
  // A whole name is compared with its end, a beginning without.
  const compared = name.endsWith("+") ? name.slice(0, -1) : `${name}\0`;
  writeCmp(writer, not ? CmpOp.neq : CmpOp.eq, encoder.encode(compared));
}

/** Whole bytes are loaded alone; a range that ends within a byte takes a mask. */
function writeAddress(
  writer: MessageWriter,
  { cidr: text, not }: XtAddress,
  { facts, isAnswer, offset }: {
    readonly facts: XtFamilyFacts;
    readonly isAnswer: boolean;
    readonly offset: number;
  },
): void {
  const cidr = parseCidr(text);
  if (cidr?.network.length !== facts.addressBytes) {
    throw new TypeError(`Cannot encode rule: "${text}" is no range of this family`);
  }
  const { network, prefixLength } = cidr;
  const op = not ? CmpOp.neq : CmpOp.eq;
  const wholeBytes = prefixLength / 8;
  if (Number.isInteger(wholeBytes)) {
    writePayload(writer, { base: PayloadBase.network, offset, length: wholeBytes });
    return writeCmp(writer, op, network.subarray(0, wholeBytes));
  }
  writePayload(writer, { base: PayloadBase.network, offset, length: network.length });
  writeMask(writer, network.map((_, index) => maskByte(prefixLength - index * 8)), isAnswer);
  writeCmp(writer, op, network);
}

function maskByte(bits: number): number {
  return bits >= 8 ? 0xff : bits <= 0 ? 0 : (0xff00 >> bits) & 0xff;
}

function writeMatch(
  writer: MessageWriter,
  match: XtMatch,
  { isAnswer, sets }: { readonly isAnswer: boolean; readonly sets: XtSets },
): void {
  const structure = matchStructure(match, sets);
  if (structure) return writeStructure(writer, "match", structure);
  if (match.kind === "ports") {
    const port = match.destination ?? 0;
    writePayload(writer, { base: PayloadBase.transport, offset: DESTINATION_PORT, length: 2 });
    writeCmp(writer, CmpOp.eq, Uint8Array.of(port >> 8, port & 0xff));
  } else if (match.kind === "mark") {
    writeMeta(writer, MetaKey.mark);
    if (match.mask !== 0xffffffff) writeMask(writer, hostOrder(match.mask), isAnswer);
    writeCmp(writer, match.not ? CmpOp.neq : CmpOp.eq, hostOrder(match.value));
  }
}

function writeTarget(writer: MessageWriter, target: XtTarget, family: IpFamily): void {
  const structure = targetStructure(target, family);
  if (structure) return writeStructure(writer, "target", structure);
  expression(writer, "immediate", () => {
    writer.u32be(ImmediateAttr.into, 0);
    const data = writer.beginNested(ImmediateAttr.data);
    const verdict = writer.beginNested(DataAttr.verdict);
    writer.u32be(VerdictAttr.code, verdictCode(target));
    if ("chain" in target) writer.string(VerdictAttr.chain, target.chain);
    writer.endNested(verdict);
    writer.endNested(data);
  });
}

function verdictCode({ kind }: XtTarget): number {
  switch (kind) {
    case "accept":
    case "drop":
    case "return":
    case "jump":
    case "goto":
      return VerdictCode[kind];
    case "dnat":
    case "masquerade":
    case "reject":
    case "set-xmark":
      throw new TypeError(`Cannot encode rule: "${kind}" is no verdict`);
    default:
      return assertNever(kind);
  }
}

function writeStructure(
  writer: MessageWriter,
  kind: "match" | "target",
  { info, name, revision }: XtStructure,
): void {
  expression(writer, kind, () => {
    writer.string(XtAttr.name, name);
    writer.u32be(XtAttr.revision, revision);
    writer.raw(XtAttr.info, info);
  });
}

function writeMeta(writer: MessageWriter, key: number): void {
  expression(writer, "meta", () => {
    writer.u32be(MetaAttr.key, key);
    writer.u32be(MetaAttr.into, REGISTER);
  });
}

function writePayload(
  writer: MessageWriter,
  { base, length, offset }: {
    readonly base: number;
    readonly offset: number;
    readonly length: number;
  },
): void {
  expression(writer, "payload", () => {
    writer.u32be(PayloadAttr.into, REGISTER);
    writer.u32be(PayloadAttr.base, base);
    writer.u32be(PayloadAttr.offset, offset);
    writer.u32be(PayloadAttr.length, length);
  });
}

function writeMask(writer: MessageWriter, mask: Uint8Array, isAnswer: boolean): void {
  expression(writer, "bitwise", () => {
    writer.u32be(BitwiseAttr.from, REGISTER);
    writer.u32be(BitwiseAttr.into, REGISTER);
    writer.u32be(BitwiseAttr.length, mask.length);
    if (isAnswer) writer.u32be(BitwiseAttr.op, MASK_AND_XOR);
    writeData(writer, BitwiseAttr.mask, mask);
    writeData(writer, BitwiseAttr.xor, new Uint8Array(mask.length));
  });
}

function writeCmp(writer: MessageWriter, op: number, data: Uint8Array): void {
  expression(writer, "cmp", () => {
    writer.u32be(CmpAttr.from, REGISTER);
    writer.u32be(CmpAttr.op, op);
    writeData(writer, CmpAttr.data, data);
  });
}

function writeData(writer: MessageWriter, type: number, value: Uint8Array): void {
  const data = writer.beginNested(type);
  writer.raw(DataAttr.value, value);
  writer.endNested(data);
}

function expression(writer: MessageWriter, name: string, attributes: () => void): void {
  const start = writer.beginNested(ListAttr.element);
  writer.string(ExprAttr.name, name);
  const data = writer.beginNested(ExprAttr.data);
  attributes();
  writer.endNested(data);
  writer.endNested(start);
}

function hostOrder(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value, true);
  return bytes;
}
