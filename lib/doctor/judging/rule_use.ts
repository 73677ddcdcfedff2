/** What a rule of somebody uses: chains, the mark, names of interfaces, addresses. */
import type {
  FirewallChain,
  FirewallExpression,
  FirewallRule,
  FirewallTable,
} from "../../kernel/firewall/firewall.ts";
import { Meta } from "../../kernel/firewall/packet_keys.ts";
import { placeOf } from "./packet_walk.ts";

/** A rule with its place. */
export interface PlacedRule {
  readonly table: FirewallTable;
  readonly chain: FirewallChain;
  readonly rule: FirewallRule;
  /** `table ip nat, chain POSTROUTING, handle 4`. */
  readonly place: string;
}

/** Every rule that was read. */
export function allRules(tables: readonly FirewallTable[]): readonly PlacedRule[] {
  return tables.flatMap((table) =>
    table.chains.flatMap((chain) =>
      (chain.rules ?? []).map((rule) => ({
        table,
        chain,
        rule,
        place: placeOf(table, chain.name, rule),
      }))
    )
  );
}

/** The chains that a rule leads to. */
export function chainsAfter({ expressions }: FirewallRule): readonly string[] {
  return expressions.flatMap((each) => {
    if (each.kind === "verdict") return "chain" in each.verdict ? [each.verdict.chain] : [];
    if (each.kind !== "lookup" || each.into !== 0) return [];
    return (each.set?.elements ?? []).flatMap(({ verdict }) =>
      verdict && "chain" in verdict ? [verdict.chain] : []
    );
  });
}

/** Whether a rule sets this bit of a packet's mark, clears it, or asks for it. */
export function usesMarkBit({ expressions }: FirewallRule, bit: number): boolean {
  const mask = 2 ** bit;
  // Which registers hold the mark, whole or in part, or what is going to be the mark.
  let touched = 0;
  const marks = new Set<number>();
  let isAboutMark = false;
  for (const each of expressions) {
    if (each.kind === "set-mark") touched |= each.mask | each.value;
    else if (each.kind === "match-mark") touched |= each.mask;
    else if (each.kind === "meta" && each.key === Meta.mark) marks.add(each.into);
    else if (each.kind === "set-meta" && each.key === Meta.mark) isAboutMark = true;
    else touched |= bitsOf(each, marks);
  }
  return ((touched & mask) !== 0) && (isAboutMark || marks.size > 0 || hasXtMark(expressions));
}

function hasXtMark(expressions: readonly FirewallExpression[]): boolean {
  return expressions.some(({ kind }) => kind === "set-mark" || kind === "match-mark");
}

/** Bits that a step asks for or changes in a register with the mark. */
function bitsOf(step: FirewallExpression, marks: ReadonlySet<number>): number {
  switch (step.kind) {
    case "bitwise":
      // What is kept of the mark is asked for; what is not kept is cleared, unless few bits are kept.
      return marks.has(step.from) ? number(step.xor) | keptOrCleared(number(step.mask)) : 0;
    case "cmp":
      return marks.has(step.from) ? number(step.value) : 0;
    case "immediate":
      return step.value.length === 4 && marks.size === 0 ? number(step.value) : 0;
    default:
      return 0;
  }
}

/** A mask with most bits set keeps the others' marks and clears its own; one with few asks for them. */
function keptOrCleared(mask: number): number {
  const ones = mask.toString(2).replaceAll("0", "").length;
  return ones > 16 ? ~mask >>> 0 : mask;
}

function number(bytes: Uint8Array): number {
  return bytes.length < 4 ? 0 : new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true);
}

/** Whether a rule asks for the interface with this name, in bytes. */
export function namesInterface({ expressions }: FirewallRule, wanted: Uint8Array): boolean {
  return expressions.some((each) =>
    each.kind === "cmp" && each.value.length >= wanted.length &&
    wanted.every((byte, at) => each.value[at] === byte) &&
    (each.value[wanted.length] ?? 0) === 0
  );
}

/** Whether a rule holds one of these addresses, each in hexadecimal, in a comparison or for a translation. */
export function namesAddress(
  { expressions }: FirewallRule,
  addresses: ReadonlySet<string>,
): boolean {
  const isOne = (value: Uint8Array) =>
    (value.length === 4 || value.length === 16) && addresses.has(value.toHex());
  return expressions.some((each) => {
    switch (each.kind) {
      case "cmp":
      case "immediate":
        return isOne(each.value);
      case "translate":
        return each.to !== undefined && (isOne(each.to.first) || isOne(each.to.last));
      default:
        return false;
    }
  });
}

/** Whether a rule looks at the ports of a packet. */
export function looksAtPorts({ expressions }: FirewallRule): boolean {
  return expressions.some((each) => each.kind === "payload" && each.base === "transport");
}
