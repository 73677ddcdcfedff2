/** Chains and rules that iptables and ipvs mode both write, and the words that both write them with. Pure. */
import type { Protocol } from "../../base/protocol.ts";
import type { XtMatch, XtProtocol, XtRule, XtTable, XtTarget } from "../../kernel/xtables/rules.ts";
import type { FamilySettings } from "../../snapshot/snapshot.ts";
import { FilterChain, NatChain } from "./names.ts";

/** A chain that is written as a whole. */
export interface StaticChain {
  readonly table: XtTable;
  readonly chain: string;
  readonly rules: readonly XtRule[];
}

/** A rule of a built-in chain that leads to one of ours. */
export interface Jump {
  readonly table: XtTable;
  readonly chain: string;
  readonly rule: XtRule;
}

/** The target that has a packet masqueraded when it leaves. */
export const toMasquerade: XtTarget = { kind: "jump", chain: NatChain.markMasquerade };

export function comment(text: string): XtMatch {
  return { kind: "comment", text };
}

/** The protocol as iptables spells it. */
export function xtProtocolOf(protocol: Protocol): XtProtocol {
  switch (protocol) {
    case "TCP":
      return "tcp";
    case "UDP":
      return "udp";
    case "SCTP":
      return "sctp";
  }
}

/**
 * How traffic of this node's pods is told, or all other traffic; undefined where it cannot be told.
 * To be spread into a rule.
 */
export function localTraffic(
  { settings }: { readonly settings: FamilySettings },
  { not = false } = {},
): Pick<XtRule, "source" | "inInterface"> | undefined {
  const turned = not ? { not } : {};
  const local = settings.localTraffic;
  switch (local.kind) {
    case "unknown":
      return undefined;
    case "source":
      return { source: { cidr: local.cidr, ...turned } };
    case "interface":
      return { inInterface: { name: local.name, ...turned } };
    case "interface-prefix":
      return { inInterface: { name: `${local.prefix}+`, ...turned } };
  }
}

/** Marks a packet to be masqueraded. */
export function markRules(mark: number): readonly XtRule[] {
  return [{ matches: [], target: { kind: "set-xmark", value: mark, mask: mark } }];
}

/** Masquerades what is marked. */
export function masqueradeRules(mark: number): readonly XtRule[] {
  return [
    {
      matches: [{ kind: "mark", value: mark, mask: mark, not: true }],
      target: { kind: "return" },
    },
    // The mark must not outlive this hook: a tunnel would carry it to its own packets.
    { matches: [], target: { kind: "set-xmark", value: mark, mask: 0 } },
    {
      matches: [comment("kubernetes service traffic requiring SNAT")],
      target: { kind: "masquerade", randomFully: true },
    },
  ];
}

/** Lets through what is marked, and what belongs to a connection that was let through. */
export function forwardRules(mark: number): readonly XtRule[] {
  return [
    {
      matches: [
        comment("kubernetes forwarding rules"),
        { kind: "mark", value: mark, mask: mark },
      ],
      target: { kind: "accept" },
    },
    {
      matches: [
        comment("kubernetes forwarding conntrack rule"),
        { kind: "conntrack", states: ["RELATED", "ESTABLISHED"] },
      ],
      target: { kind: "accept" },
    },
  ];
}

/** Rules of these built-in chains that lead to one of ours. */
export function jumpsTo(
  to: string,
  { from, matches, table }: {
    readonly table: XtTable;
    readonly from: readonly string[];
    readonly matches: readonly XtMatch[];
  },
): readonly Jump[] {
  const rule: XtRule = { matches, target: { kind: "jump", chain: to } };
  return from.map((chain) => ({ table, chain, rule }));
}

/** To all connections to Services. */
export const servicesJumps = jumpsTo(NatChain.services, {
  table: "nat",
  from: ["OUTPUT", "PREROUTING"],
  matches: [comment("kubernetes service portals")],
});

/** To what masquerades. */
export const postroutingJumps = jumpsTo(NatChain.postrouting, {
  table: "nat",
  from: ["POSTROUTING"],
  matches: [comment("kubernetes postrouting rules")],
});

/** To what lets connections through this machine. */
export const forwardJumps = jumpsTo(FilterChain.forward, {
  table: "filter",
  from: ["FORWARD"],
  matches: [comment("kubernetes forwarding rules")],
});
