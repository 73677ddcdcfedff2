/**
 * The older tables of iptables as the kernel keeps them, read into the same form as those of nf_tables.
 * A table is a list of entries; a chain begins at the place of a hook, or behind an entry whose target
 * is `ERROR`, and ends with an entry that says what happens to packets that no rule decided over.
 */
import { ipFamilies, type IpFamily } from "../../base/ip_family.ts";
import { HOOKS } from "../nf_tables/wire.ts";
import { CmpOp } from "../nftables/expressions.ts";
import { type LegacyBlob, readLegacyBlob } from "../xtables/legacy_blob.ts";
import {
  type EntryLayout,
  entryLayouts,
  ERROR,
  Flag,
  matchesOf,
  nextOf,
  Part,
  Standard,
  structureAt,
  textAt,
  Turned,
} from "../xtables/legacy_entry.ts";
import type { LegacyTables } from "../xtables/legacy_tables.ts";
import type { XtTable } from "../xtables/rules.ts";
import type {
  FirewallChain,
  FirewallExpression,
  FirewallQuestion,
  FirewallRule,
  FirewallTable,
  FirewallVerdict,
} from "./firewall.ts";
import { Meta } from "./packet_keys.ts";
import { commentOf, matchExpressions, targetExpressions } from "./xt_expressions.ts";

/** Every older table that is loaded. Asks for no other, since that would load it. */
export function readLegacyFirewall(
  tables: LegacyTables,
  question: FirewallQuestion,
): readonly FirewallTable[] {
  return ipFamilies.flatMap((family) =>
    tables.loaded(family).map((table) =>
      legacyTable(readLegacyBlob(family, table), { family, table, question })
    )
  );
}

/** What a table is, besides its bytes. */
interface LegacyTableOptions {
  readonly family: IpFamily;
  readonly table: XtTable;
  readonly question: FirewallQuestion;
}

/** A table of its bytes. Throws `RangeError` where they are garbage. For tests: bytes of their own. */
export function legacyTable(
  blob: LegacyBlob,
  { family, question, table }: LegacyTableOptions,
): FirewallTable {
  const id = {
    engine: "legacy" as const,
    family: family === "IPv4" ? "ip" as const : "ip6" as const,
    name: table,
  };
  const spans = chainSpans(blob, entryLayouts[family]);
  const names = new Map(spans.map(({ name, start }) => [start, name]));
  return {
    ...id,
    isDormant: false,
    isOwned: false,
    chains: spans.map((span): FirewallChain => ({
      name: span.name,
      base: span.hook === undefined ? undefined : {
        type: table === "nat" ? "nat" : "filter",
        hook: HOOKS[span.hook],
        priority: priorityOf(table, span.hook),
        policy: span.policy,
      },
      rules: question.wantsRules(id, span.name)
        ? span.entries.map((at, index) =>
          readEntry(blob.entries, { at, index, family, chainAt: (place) => names.get(place) })
        )
        : undefined,
    })),
  };
}

const SCRATCH = 1;
const BUILT_IN = ["PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"];

interface ChainSpan {
  readonly name: string;
  /** Where its first entry is: jumps name this place. */
  readonly start: number;
  readonly hook: number | undefined;
  readonly policy: "accept" | "drop";
  /** Its rules, without the entry that ends the chain. */
  readonly entries: readonly number[];
}

function chainSpans(
  { entries, hookEntries, underflows }: LegacyBlob,
  layout: EntryLayout,
): readonly ChainSpan[] {
  const view = viewOf(entries);
  const spans: (ChainSpan & { readonly entries: number[] })[] = [];
  for (let at = 0; at < entries.length;) {
    const next = nextOf(view, at, layout);
    const target = at + view.getUint16(at + layout.target, true);
    const head = textAt(entries, target + Part.name, Part.nameBytes) === ERROR;
    const hook = hookEntries.indexOf(at);
    if (hook >= 0) {
      const policyAt = underflows[hook] ?? 0;
      const code = view.getInt32(
        policyAt + view.getUint16(policyAt + layout.target, true) + Part.data,
        true,
      );
      const policy = code === Standard.drop ? "drop" : "accept";
      spans.push({ name: BUILT_IN[hook], start: at, hook, policy, entries: [] });
    }
    if (head) {
      const name = textAt(entries, target + Part.data, Part.nameBytes);
      // The last entry of a table is a head that nothing follows.
      if (next < entries.length) {
        spans.push({ name, start: next, hook: undefined, policy: "accept", entries: [] });
      }
    } else {
      spans.at(-1)?.entries.push(at);
    }
    at = next;
  }
  return spans.map((span) => ({ ...span, entries: span.entries.slice(0, -1) }));
}

interface EntryOptions {
  readonly at: number;
  readonly index: number;
  readonly family: IpFamily;
  /** The chain that begins there. */
  readonly chainAt: (place: number) => string | undefined;
}

function readEntry(
  bytes: Uint8Array,
  { at, chainAt, family, index }: EntryOptions,
): FirewallRule {
  const layout = entryLayouts[family];
  const view = viewOf(bytes);
  const next = nextOf(view, at, layout);
  const target = at + view.getUint16(at + layout.target, true);
  const structures = [...matchesOf(bytes, { at, layout, view })];
  const name = textAt(bytes, target + Part.name, Part.nameBytes);
  const verdict = name === ""
    ? standardTarget(view, { at, next, target, family, chainAt })
    : targetExpressions(structureAt(bytes, target, next - target), family);
  return {
    place: `rule ${index + 1}`,
    comment: structures.map(commentOf).find((text) => text !== undefined),
    expressions: [
      ...headerExpressions(bytes, at, family),
      ...structures.flatMap((structure) => matchExpressions(structure, family)),
      ...verdict,
    ],
  };
}

function standardTarget(
  view: DataView,
  { at, chainAt, family, next, target }: {
    readonly at: number;
    readonly next: number;
    readonly target: number;
    readonly family: IpFamily;
    readonly chainAt: (place: number) => string | undefined;
  },
): readonly FirewallExpression[] {
  const code = view.getInt32(target + Part.data, true);
  // A rule without a target goes on with the next one.
  if (code === next) return [];
  const verdict = standardVerdict(code);
  if (verdict) return [{ kind: "verdict", verdict }];
  const chain = code < 0 ? undefined : chainAt(code);
  if (chain === undefined) return [{ kind: "decide-unknown", what: "a queue" }];
  const flags = view.getUint8(at + entryLayouts[family].flags);
  const goto = family === "IPv4" ? Flag.gotoIPv4 : Flag.gotoIPv6;
  const kind = (flags & goto) !== 0 ? "goto" as const : "jump" as const;
  return [{ kind: "verdict", verdict: { kind, chain } }];
}

function standardVerdict(code: number): FirewallVerdict | undefined {
  switch (code) {
    case Standard.accept:
      return { kind: "accept" };
    case Standard.drop:
      return { kind: "drop" };
    case Standard.return:
      return { kind: "return" };
    default:
      return undefined;
  }
}

/** What `struct ipt_ip` and `struct ip6t_ip6` ask of addresses, interfaces and the protocol. */
function headerExpressions(
  bytes: Uint8Array,
  at: number,
  family: IpFamily,
): readonly FirewallExpression[] {
  const layout = entryLayouts[family];
  const turned = bytes[at + layout.turned];
  const flags = bytes[at + layout.flags];
  const { addressBytes } = layout;
  const slice = (from: number, length: number) => bytes.slice(at + from, at + from + length);
  const header = (offset: number): FirewallExpression => ({
    kind: "payload",
    base: "network",
    offset,
    length: addressBytes,
    into: SCRATCH,
  });
  const protocol = bytes[at + layout.protocol];
  const isOdd = family === "IPv4" ? (flags & Flag.fragment) !== 0 : (flags & Flag.tosIPv6) !== 0;
  return [
    ...masked(header(layout.headerSource), {
      value: slice(layout.source, addressBytes),
      mask: slice(layout.sourceMask, addressBytes),
      not: (turned & Turned.source) !== 0,
    }),
    ...masked(header(layout.headerDestination), {
      value: slice(layout.destination, addressBytes),
      mask: slice(layout.destinationMask, addressBytes),
      not: (turned & Turned.destination) !== 0,
    }),
    ...masked({ kind: "meta", key: Meta.iifname, into: SCRATCH }, {
      ...interfaceName(slice(layout.inInterface, 16), slice(layout.inMask, 16)),
      not: (turned & Turned.inInterface) !== 0,
    }),
    ...masked({ kind: "meta", key: Meta.oifname, into: SCRATCH }, {
      ...interfaceName(slice(layout.outInterface, 16), slice(layout.outMask, 16)),
      not: (turned & Turned.outInterface) !== 0,
    }),
    ...(protocol === 0 ? [] : masked({ kind: "meta", key: Meta.l4proto, into: SCRATCH }, {
      value: Uint8Array.of(protocol),
      mask: Uint8Array.of(0xff),
      not: (turned & Turned.protocol) !== 0,
    })),
    ...(isOdd ? [{ kind: "match-unknown" as const, what: "fragments or a type of service" }] : []),
  ];
}

/** The `+` of `eth+` stands in the name and not in the mask. */
function interfaceName(
  name: Uint8Array,
  mask: Uint8Array,
): { readonly value: Uint8Array; readonly mask: Uint8Array } {
  return { value: name.map((byte, at) => byte & mask[at]), mask };
}

/** A test of some bits of what was loaded; none where no bit counts. */
function masked(
  load: FirewallExpression,
  { mask, not, value }: {
    readonly value: Uint8Array;
    readonly mask: Uint8Array;
    readonly not: boolean;
  },
): readonly FirewallExpression[] {
  if (mask.every((byte) => byte === 0) && !not) return [];
  const xor = new Uint8Array(mask.length);
  return [
    load,
    { kind: "bitwise", from: SCRATCH, into: SCRATCH, mask, xor },
    { kind: "cmp", from: SCRATCH, op: not ? CmpOp.neq : CmpOp.eq, value },
  ];
}

/** NF_IP_PRI_*. */
function priorityOf(table: XtTable, hook: number): number {
  switch (table) {
    case "raw":
      return -300;
    case "mangle":
      return -150;
    case "nat":
      // Destinations are translated early, sources late.
      return HOOKS[hook] === "prerouting" || HOOKS[hook] === "output" ? -100 : 100;
    case "filter":
      return 0;
    case "security":
      return 50;
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}
