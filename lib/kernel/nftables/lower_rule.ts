/**
 * Lowers statements to expressions, in exactly the sequences that `nft` 1.0.6 makes of the same text
 * and can print again. A sequence that works in the kernel but that nft cannot print makes it abort,
 * and with it every other tool of the node that lists rules.
 */
import { assertNever } from "../../base/assert_never.ts";
import {
  type AnonymousSet,
  CmpOp,
  CtKey,
  type Expression,
  Fib,
  MetaKey,
  NatFlag,
  type Register,
  RejectType,
} from "./expressions.ts";
import { type FamilyFacts, familyFacts } from "./family.ts";
import { fieldLayout, writeFields } from "./fields.ts";
import { lowerLiteralMatch } from "./lower_literals.ts";
import type { NftFamily, NftRule, NftStatement, NftVerdict } from "./operations.ts";
import { load, registerAt } from "./selectors.ts";

const CT_STATE_NEW = 8;
const CT_STATUS_DNAT = 0x20;
const RTN_LOCAL = 2;
const INTERFACE_NAME_BYTES = 16;
const TCP = Uint8Array.of(6);

/** The rule's expressions in order. Throws for a statement that cannot be said. */
export function lowerRule(rule: NftRule, family: NftFamily): readonly Expression[] {
  const facts = familyFacts(family);
  return rule.statements.flatMap((statement, i) => {
    const before = rule.statements.slice(0, i);
    return lowerStatement(statement, { facts, before });
  });
}

/** Whether the statement lets TCP through and nothing else. */
function matchesTcpOnly(statement: NftStatement): boolean {
  return statement.kind === "match" && !statement.not && statement.select.length === 1 &&
    statement.select[0] === "l4proto" && "values" in statement.in &&
    statement.in.values.length === 1 && statement.in.values[0] === "tcp";
}

interface Context {
  readonly facts: FamilyFacts;
  /** The statements before this one. */
  readonly before: readonly NftStatement[];
}

function lowerStatement(statement: NftStatement, { facts, before }: Context): Expression[] {
  switch (statement.kind) {
    case "match":
      return lowerMatch(statement, facts);
    case "match-interface":
      return [
        { kind: "meta", key: MetaKey.iifname, into: 1 },
        cmp(statement.not === true, interfaceName(statement.name, statement.prefix === true)),
      ];
    case "match-local":
      return [
        { kind: "fib", flags: Fib[statement.select], into: 1 },
        { kind: "cmp", op: CmpOp.eq, from: 1, data: u32(RTN_LOCAL) },
      ];
    case "match-ct-new":
      return [{ kind: "ct", key: CtKey.state, into: 1 }, ...anyBitOf(CT_STATE_NEW)];
    case "match-ct-dnat":
      return [{ kind: "ct", key: CtKey.status, into: 1 }, ...anyBitOf(CT_STATUS_DNAT)];
    case "match-mark":
      return [{ kind: "meta", key: MetaKey.mark, into: 1 }, ...anyBitOf(statement.mask)];
    case "set-mark-or":
      return changeMark(~statement.mask, statement.mask);
    case "set-mark-xor":
      return changeMark(0xffffffff, statement.mask);
    case "verdict":
      return [{ kind: "verdict", verdict: statement.verdict }];
    case "vmap":
      return [...load(statement.select, facts), lookupNamed(statement.map, { into: 0 })];
    case "random-verdict":
      return lowerRandomVerdict(statement.verdicts, facts.name);
    case "update-set":
      return [...load(statement.select, facts), {
        kind: "update-set",
        set: statement.set,
        key: 1,
        timeoutSeconds: statement.timeoutSeconds ?? 0,
      }];
    case "dnat":
      return lowerDnat(statement, facts);
    case "dnat-map":
      return [
        ...load(statement.select, facts),
        lookupNamed(statement.map, { into: 1 }),
        dnat(facts, registerAt(facts.addressBytes)),
      ];
    case "dnat-same":
      return [...load(["daddr"], facts), dnat(facts, undefined)];
    case "masquerade":
      return [{ kind: "masq", flags: statement.fullyRandom ? NatFlag.fullyRandom : 0 }];
    case "reject":
      return lowerReject(statement.tcpReset === true, { facts, before });
    default:
      return assertNever(statement);
  }
}

function lowerMatch(
  statement: Extract<NftStatement, { kind: "match" }>,
  facts: FamilyFacts,
): Expression[] {
  const not = statement.not === true;
  return "set" in statement.in
    ? [...load(statement.select, facts), lookupNamed(statement.in.set, { not })]
    : lowerLiteralMatch(statement.select, statement.in.values, { facts, not });
}

function lookupNamed(
  name: string,
  { into, not = false }: { readonly into?: Register; readonly not?: boolean },
): Expression {
  const target = { kind: "named", name } as const;
  return { kind: "lookup", target, from: 1, ...(into !== undefined && { into }), not };
}

function cmp(not: boolean, data: Uint8Array): Expression {
  return { kind: "cmp", op: not ? CmpOp.neq : CmpOp.eq, from: 1, data };
}

function anyBitOf(mask: number): Expression[] {
  return [
    { kind: "bitwise", from: 1, into: 1, mask: u32(mask), xor: u32(0) },
    { kind: "cmp", op: CmpOp.neq, from: 1, data: u32(0) },
  ];
}

function changeMark(mask: number, xor: number): Expression[] {
  return [
    { kind: "meta", key: MetaKey.mark, into: 1 },
    { kind: "bitwise", from: 1, into: 1, mask: u32(mask), xor: u32(xor) },
    { kind: "meta-set", key: MetaKey.mark, from: 1 },
  ];
}

function lowerRandomVerdict(verdicts: readonly NftVerdict[], family: NftFamily): Expression[] {
  const layout = fieldLayout(["index"], family);
  const elements = verdicts.map((verdict, index) => {
    const key = new Uint8Array(layout.bytes);
    writeFields(layout, [index], key);
    return { key, verdict };
  });
  const set: AnonymousSet = {
    keyField: "index",
    keyTypeId: layout.typeId,
    keyBytes: layout.bytes,
    interval: false,
    isVerdictMap: true,
    elements,
  };
  return [
    { kind: "numgen", modulus: verdicts.length, offset: 0, into: 1 },
    { kind: "lookup", target: { kind: "anonymous", set }, from: 1, into: 0, not: false },
  ];
}

function lowerDnat(
  target: { readonly address: string; readonly port: number },
  facts: FamilyFacts,
): Expression[] {
  const address = new Uint8Array(facts.addressBytes);
  writeFields(fieldLayout(["addr"], facts.name), [target.address], address);
  const port = new Uint8Array(2);
  writeFields(fieldLayout(["inet_service"], facts.name), [target.port], port);
  return [
    { kind: "immediate", into: 1, data: address },
    { kind: "immediate", into: 2, data: port },
    dnat(facts, 2),
  ];
}

function dnat(facts: FamilyFacts, port: Register | undefined): Expression {
  const flags = NatFlag.address | (port === undefined ? 0 : NatFlag.port);
  const { nfproto } = facts;
  return { kind: "dnat", nfproto, address: 1, ...(port !== undefined && { port }), flags };
}

/** A reset answers TCP only, so nft puts the match before it where the rule has none. */
function lowerReject(tcpReset: boolean, { facts, before }: Context): Expression[] {
  if (!tcpReset) {
    return [{ kind: "reject", type: RejectType.icmpUnreachable, code: facts.portUnreachable }];
  }
  const reset: Expression = { kind: "reject", type: RejectType.tcpReset, code: 0 };
  if (before.some(matchesTcpOnly)) return [reset];
  return [{ kind: "meta", key: MetaKey.l4proto, into: 1 }, cmp(false, TCP), reset];
}

/** A whole name is padded to the kernel's size; a prefix compares its own letters. */
function interfaceName(name: string, isPrefix: boolean): Uint8Array {
  if (!/^[^\s"/]{1,15}$/.test(name)) {
    throw new RangeError(`Cannot encode rule: "${name}" is no interface name`);
  }
  const bytes = new TextEncoder().encode(name);
  if (isPrefix) return bytes;
  const padded = new Uint8Array(INTERFACE_NAME_BYTES);
  padded.set(bytes);
  return padded;
}

/** Marks and flags are in host order. */
function u32(value: number): Uint8Array {
  return Uint8Array.of(value & 0xff, (value >>> 8) & 0xff, (value >>> 16) & 0xff, value >>> 24);
}
