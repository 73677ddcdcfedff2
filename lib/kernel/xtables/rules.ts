/**
 * Rules of iptables as values, in iptables' own words. A value holds what `iptables-save` can print,
 * in the form in which it prints it, so that two rules mean the same exactly when their texts are
 * equal (text.ts); that text is a rule's key in both backends.
 */
import type { IpFamily } from "../../base/ip_family.ts";

/** Tables that iptables knows. */
export type XtTable = "raw" | "mangle" | "nat" | "filter" | "security";

/** The tables in the order in which a packet meets them. */
export const xtTables: readonly XtTable[] = ["raw", "mangle", "nat", "filter", "security"];

/** Protocols that have ports here. */
export type XtProtocol = "tcp" | "udp" | "sctp";

const xtProtocols: readonly XtProtocol[] = ["tcp", "udp", "sctp"];

/** Their numbers. */
export const xtProtocolNumbers: Readonly<Record<XtProtocol, number>> = {
  tcp: 6,
  udp: 17,
  sctp: 132,
};

/** The protocol of this number; undefined for one without ports here. */
export function protocolOfNumber(number: number): XtProtocol | undefined {
  return xtProtocols.find((protocol) => xtProtocolNumbers[protocol] === number);
}

/** `-s`, `-d`: canonical address with prefix length, masked. One that matches everything is left out. */
export interface XtAddress {
  readonly cidr: string;
  readonly not?: boolean;
}

/** `-i`, `-o`: a name, or the beginning of one with a `+` behind it. */
export interface XtInterface {
  readonly name: string;
  readonly not?: boolean;
}

/** States of a connection, in the order in which iptables prints them. */
export const xtStates = [
  "INVALID",
  "NEW",
  "RELATED",
  "ESTABLISHED",
  "UNTRACKED",
  "SNAT",
  "DNAT",
] as const;
export type XtState = typeof xtStates[number];

/** A test behind `-m`. Their order belongs to the rule. */
export type XtMatch =
  | { readonly kind: "comment"; readonly text: string }
  /** `-m tcp --dport 80`; without a port the bare `-m tcp`. */
  | { readonly kind: "ports"; readonly protocol: XtProtocol; readonly destination?: number }
  | {
    readonly kind: "mark";
    readonly value: number;
    readonly mask: number;
    readonly not?: boolean;
  }
  /** Any of these states, sorted as in `xtStates`. */
  | { readonly kind: "conntrack"; readonly states: readonly XtState[]; readonly not?: boolean }
  /** `LOCAL`: an address of this machine. */
  | {
    readonly kind: "addrtype";
    readonly source?: "LOCAL";
    readonly destination?: "LOCAL";
    /** The source is none. */
    readonly notSource?: boolean;
  }
  /** Matches at random, so often of 2^31 times: see `chanceOf`. */
  | { readonly kind: "statistic"; readonly chance: number }
  /** Notes the source address under this name. */
  | { readonly kind: "recent-set"; readonly name: string }
  /** The source address was noted within these seconds; forgets the older ones. */
  | { readonly kind: "recent-check"; readonly name: string; readonly seconds: number }
  /** Counts into a named counter, which must exist. */
  | { readonly kind: "nfacct"; readonly name: string }
  /** The packet is a member of a set, which must exist: each part of a member with the side it is taken from. */
  | {
    readonly kind: "set";
    readonly name: string;
    readonly sides: readonly XtSide[];
    readonly not?: boolean;
  }
  /** The packet came in by a port of a bridge. */
  | { readonly kind: "physdev-is-in"; readonly not?: boolean }
  /** The packet belongs to a connection of this virtual server of IPVS. */
  | {
    readonly kind: "ipvs";
    readonly protocol: XtProtocol;
    readonly address: string;
    readonly port: number;
  };

/** Members of the sets that rules look into have no more parts. */
export const MAX_SIDES = 3;

/** From where a part of a set's member is taken: the packet's source or its destination. */
export type XtSide = "src" | "dst";

/** What happens to a packet that passed all tests. */
export type XtTarget =
  | { readonly kind: "accept" | "drop" | "return" }
  | { readonly kind: "jump" | "goto"; readonly chain: string }
  /** An ICMP error: the port is unreachable. */
  | { readonly kind: "reject" }
  | { readonly kind: "dnat"; readonly address: string; readonly port: number }
  | { readonly kind: "masquerade"; readonly randomFully: boolean }
  /** `--set-xmark value/mask`: clears the bits of the mask, then flips those of the value. */
  | { readonly kind: "set-xmark"; readonly value: number; readonly mask: number };

/** One rule, without its place. A rule without a target only counts. */
export interface XtRule {
  readonly source?: XtAddress;
  readonly destination?: XtAddress;
  readonly inInterface?: XtInterface;
  readonly outInterface?: XtInterface;
  readonly protocol?: XtProtocol;
  readonly matches: readonly XtMatch[];
  readonly target?: XtTarget;
}

/** Where a change belongs. */
export interface XtPlace {
  readonly table: XtTable;
  readonly chain: string;
}

/**
 * One change. Additions name what is not there yet, deletions and flushes what is.
 * - `add-table`: the table with these of its built-in chains, all when absent, as iptables makes them at
 *   their first use; what is there stays as it is, policies too. In the older engine all are there.
 * - `append-rule` puts a rule at the end of its chain, `insert-rule` at the head.
 * - `delete-rule` deletes one rule that says the same.
 */
export type XtChange =
  | { readonly kind: "add-table"; readonly table: XtTable; readonly chains?: readonly string[] }
  | (XtPlace & { readonly kind: "add-chain" })
  | (XtPlace & { readonly kind: "flush-chain" })
  | (XtPlace & { readonly kind: "delete-chain" })
  | (XtPlace & { readonly kind: "append-rule"; readonly rule: XtRule })
  | (XtPlace & { readonly kind: "insert-rule"; readonly rule: XtRule })
  | (XtPlace & { readonly kind: "delete-rule"; readonly rule: XtRule });

/** Chances of `statistic` are counted in parts of this. */
export const CHANCES = 0x80000000;

/** One of `count`, as iptables rounds the ten digits of `--probability`. */
export function chanceOf(count: number): number {
  return Math.round(CHANCES * Number((1 / count).toFixed(10)));
}

/** The chains that the kernel calls itself, by table, in the order of `iptables-save`. */
export const builtInChains: Readonly<Record<XtTable, readonly string[]>> = {
  raw: ["PREROUTING", "OUTPUT"],
  mangle: ["PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"],
  nat: ["PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"],
  filter: ["INPUT", "FORWARD", "OUTPUT"],
  security: ["INPUT", "FORWARD", "OUTPUT"],
};

/** The name of the chain to which the rule leads, if it leads to one. */
export function jumpOf({ target }: XtRule): string | undefined {
  return target?.kind === "jump" || target?.kind === "goto" ? target.chain : undefined;
}

/** The name that iptables' own tools have for the family: `iptables` or `ip6tables`. */
export function toolOf(family: IpFamily): "iptables" | "ip6tables" {
  return family === "IPv4" ? "iptables" : "ip6tables";
}
