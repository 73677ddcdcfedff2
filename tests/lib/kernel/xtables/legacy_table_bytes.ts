/** Tables of the older engine as its kernel would hand them out. */
import type { IpFamily } from "../../../../lib/base/ip_family.ts";
import { parseCidr } from "../../../../lib/base/ip.ts";
import type { LegacyBlob } from "../../../../lib/kernel/xtables/legacy_blob.ts";
import {
  jumpOf,
  type XtMatch,
  xtProtocolNumbers,
  type XtRule,
} from "../../../../lib/kernel/xtables/rules.ts";
import { makeStructure, type XtStructure } from "../../../../lib/kernel/xtables/structure.ts";
import { matchStructure, targetStructure } from "../../../../lib/kernel/xtables/structures.ts";
import { sampleSets } from "./sample_rules.ts";

/** Offsets of `struct ipt_entry` and `struct ip6t_entry`. */
export const entryOffsets = {
  IPv4: { addressBytes: 4, interfaces: 16, protocol: 80, flags: 82, sizes: 88, matches: 112 },
  IPv6: { addressBytes: 16, interfaces: 64, protocol: 128, flags: 131, sizes: 140, matches: 168 },
} as const;

/** A chain, with its own rules; those that the kernel calls itself have the number of their hook. */
export interface TableChain {
  readonly name: string;
  readonly hook?: number;
  readonly policy?: "accept" | "drop";
  readonly rules: readonly XtRule[];
  /** Changes the bytes of a rule, whose index comes with it. */
  readonly edit?: (entry: Uint8Array, index: number) => void;
}

const verdicts: Readonly<Record<string, number>> = { accept: -2, drop: -1, return: -5 };
/** A verdict that is filled in once it is known where the chain begins. */
const LATER = 0;

/** The table that holds these chains. */
export function tableBytes(chains: readonly TableChain[], family: IpFamily): LegacyBlob {
  const parts: Uint8Array[] = [];
  const jumps: { readonly at: number; readonly chain: string }[] = [];
  const starts = new Map<string, number>();
  const hookEntries: (number | undefined)[] = Array(5).fill(undefined);
  const underflows: (number | undefined)[] = Array(5).fill(undefined);
  let at = 0;
  const add = (entry: Uint8Array) => {
    parts.push(entry);
    at += entry.length;
  };
  for (const { edit, hook, name, policy = "accept", rules } of chains) {
    if (hook === undefined) add(entryOf({ matches: [] }, errorTarget(name), family));
    else hookEntries[hook] = at;
    starts.set(name, at);
    for (const [index, rule] of rules.entries()) {
      const jump = jumpOf(rule);
      const entry = entryOf(rule, targetOf(rule, family), family);
      edit?.(entry, index);
      const view = new DataView(entry.buffer);
      if (jump !== undefined) jumps.push({ at: at + entry.length - 8, chain: jump });
      else if (!rule.target) view.setInt32(entry.length - 8, at + entry.length, true);
      add(entry);
    }
    if (hook !== undefined) underflows[hook] = at;
    const end: XtRule = { matches: [], target: { kind: hook === undefined ? "return" : policy } };
    add(entryOf(end, targetOf(end, family), family));
  }
  add(entryOf({ matches: [] }, errorTarget("ERROR"), family));
  const entries = new Uint8Array(at);
  let end = 0;
  for (const part of parts) {
    entries.set(part, end);
    end += part.length;
  }
  const view = new DataView(entries.buffer);
  for (const { at, chain } of jumps) view.setInt32(at, starts.get(chain) ?? LATER, true);
  return { hookEntries, underflows, entries };
}

/** A match or target with the header of `struct xt_entry_match`. */
function partOf({ info, name, revision }: XtStructure): Uint8Array {
  const bytes = new Uint8Array(32 + Math.ceil(info.length / 8) * 8);
  new DataView(bytes.buffer).setUint16(0, bytes.length, true);
  new TextEncoder().encodeInto(name, bytes.subarray(2));
  bytes[31] = revision;
  bytes.set(info, 32);
  return bytes;
}

function errorTarget(chain: string): Uint8Array {
  return partOf(makeStructure(
    { name: "ERROR", revision: 0, bytes: 32 },
    (_, info) => void new TextEncoder().encodeInto(chain, info),
  ));
}

function targetOf({ target }: XtRule, family: IpFamily): Uint8Array {
  const structure = target && targetStructure(target, family);
  return partOf(
    structure ?? makeStructure(
      { name: "", revision: 0, bytes: 8 },
      (view) => view.setInt32(0, verdicts[target?.kind ?? ""] ?? LATER, true),
    ),
  );
}

/** What nft has expressions for is a structure here. */
function legacyMatch(match: XtMatch): XtStructure | undefined {
  if (match.kind === "mark") {
    return makeStructure({ name: "mark", revision: 1, bytes: 12 }, (view) => {
      view.setUint32(0, match.value, true);
      view.setUint32(4, match.mask, true);
      view.setUint8(8, match.not ? 1 : 0);
    });
  }
  if (match.kind !== "ports" || match.protocol === "sctp" || match.destination === undefined) {
    return matchStructure(match, sampleSets);
  }
  const { destination, protocol } = match;
  return makeStructure({ name: protocol, revision: 0, bytes: 16 }, (view) => {
    view.setUint16(2, 0xffff, true);
    view.setUint16(4, destination, true);
    view.setUint16(6, destination, true);
  });
}

function entryOf(rule: XtRule, target: Uint8Array, family: IpFamily): Uint8Array {
  const offsets = entryOffsets[family];
  const { addressBytes, flags, interfaces, protocol, sizes } = offsets;
  const matches = rule.matches.flatMap((match) => {
    const structure = legacyMatch(match);
    return structure ? [...partOf(structure)] : [];
  });
  const entry = new Uint8Array(offsets.matches + matches.length + target.length);
  const view = new DataView(entry.buffer);
  let turned = 0;
  for (const [index, address] of [rule.source, rule.destination].entries()) {
    const cidr = address && parseCidr(address.cidr);
    if (!cidr) continue;
    entry.set(cidr.network, index * addressBytes);
    for (let bit = 0; bit < cidr.prefixLength; bit++) {
      entry[(2 + index) * addressBytes + (bit >> 3)] |= 0x80 >> (bit & 7);
    }
    if (address?.not) turned |= 8 << index;
  }
  for (const [index, asked] of [rule.inInterface, rule.outInterface].entries()) {
    if (!asked) continue;
    const { name, not } = asked;
    new TextEncoder().encodeInto(name, entry.subarray(interfaces + index * 16));
    const mask = interfaces + (2 + index) * 16;
    entry.fill(0xff, mask, mask + (name.endsWith("+") ? name.length - 1 : name.length + 1));
    if (not) turned |= 1 << index;
  }
  if (rule.protocol) view.setUint16(protocol, xtProtocolNumbers[rule.protocol], true);
  const goto = rule.target?.kind === "goto";
  if (family === "IPv4") entry[flags] = goto ? 2 : 0;
  else entry[flags] = (rule.protocol ? 1 : 0) | (goto ? 4 : 0);
  entry[flags + 1] = turned;
  view.setUint16(sizes, offsets.matches + matches.length, true);
  view.setUint16(sizes + 2, entry.length, true);
  entry.set(matches, offsets.matches);
  entry.set(target, offsets.matches + matches.length);
  return entry;
}
