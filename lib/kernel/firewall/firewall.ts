/**
 * The packet filters of this network namespace as anybody wrote them: nf_tables and the older tables,
 * in one form. It is that of the kernel's own expressions, since those say exactly what is done to a
 * packet; what we cannot read is in it too, as something unknown.
 */

/** `nft` holds tables of iptables-nft as well. */
export type FirewallEngine = "nft" | "legacy";

/** Families of nf_tables; the older tables are `ip` or `ip6`. */
export type FirewallFamily = "ip" | "ip6" | "inet" | "arp" | "bridge" | "netdev";

/** What happens to a packet. */
export type FirewallVerdict =
  | { readonly kind: "accept" | "drop" | "return" | "continue" }
  | { readonly kind: "jump" | "goto"; readonly chain: string };

/** One key of a set, or a range of keys. */
export interface FirewallElement {
  readonly first: Uint8Array;
  readonly last: Uint8Array;
  /** Every key that no other element has. */
  readonly isCatchAll?: true;
  /** Of a verdict map. */
  readonly verdict?: FirewallVerdict;
  /** Of a map of values. */
  readonly value?: Uint8Array;
}

/** A set that a rule looks into. */
export interface FirewallSet {
  readonly name: string;
  /** Bytes of each field of a key, padding included; one entry where the key is not a concatenation. */
  readonly fieldBytes: readonly number[];
  readonly elements: readonly FirewallElement[];
}

/** Part of a packet's headers, by where it begins. */
export type PayloadBase = "network" | "transport" | "other";

/** One step of a rule, in the kernel's order. Registers are its numbers; values are in its byte order. */
export type FirewallExpression =
  | {
    readonly kind: "payload";
    readonly base: PayloadBase;
    readonly offset: number;
    readonly length: number;
    readonly into: number;
  }
  | { readonly kind: "meta"; readonly key: number; readonly into: number }
  | { readonly kind: "set-meta"; readonly key: number; readonly from: number }
  | { readonly kind: "ct"; readonly key: number; readonly into: number }
  | {
    readonly kind: "fib";
    readonly result: number;
    readonly flags: number;
    readonly into: number;
  }
  | { readonly kind: "immediate"; readonly into: number; readonly value: Uint8Array }
  /** `op`: see `CmpOp` of nftables/expressions.ts. */
  | { readonly kind: "cmp"; readonly from: number; readonly op: number; readonly value: Uint8Array }
  | {
    readonly kind: "range";
    readonly from: number;
    readonly not: boolean;
    readonly first: Uint8Array;
    readonly last: Uint8Array;
  }
  | {
    readonly kind: "bitwise";
    readonly from: number;
    readonly into: number;
    readonly mask: Uint8Array;
    readonly xor: Uint8Array;
  }
  | {
    readonly kind: "lookup";
    /** Undefined: its elements were not read. */
    readonly set: FirewallSet | undefined;
    readonly setName: string;
    readonly from: number;
    /** Absent: only whether it is there. 0: its verdict is obeyed. */
    readonly into?: number;
    readonly not: boolean;
  }
  | { readonly kind: "verdict"; readonly verdict: FirewallVerdict }
  /** Ends the packet's way with an answer. */
  | { readonly kind: "reject" }
  /** Translates an address, which ends the way through a nat chain. */
  | {
    readonly kind: "translate";
    readonly what: string;
    /** The addresses that it chooses from, where the step itself says them. */
    readonly to?: { readonly first: Uint8Array; readonly last: Uint8Array };
  }
  /** Changes the mark of the packet: clears the mask, then flips the value. */
  | { readonly kind: "set-mark"; readonly value: number; readonly mask: number }
  /** Compares the mark. */
  | {
    readonly kind: "match-mark";
    readonly value: number;
    readonly mask: number;
    readonly not: boolean;
  }
  /** Loads something that cannot be foretold into a register. */
  | { readonly kind: "load-unknown"; readonly what: string; readonly into: number }
  /** May let the packet pass to the next step or not. */
  | { readonly kind: "match-unknown"; readonly what: string }
  /** Decides over the packet in a way that we do not know. */
  | { readonly kind: "decide-unknown"; readonly what: string }
  /** Counts or tells, and decides nothing. */
  | { readonly kind: "passive"; readonly what: string };

/** One rule. */
export interface FirewallRule {
  /** How people find it: `handle 12` in nf_tables, `rule 3` in the older tables. */
  readonly place: string;
  readonly comment: string | undefined;
  readonly expressions: readonly FirewallExpression[];
}

/** Where the kernel calls a chain. */
export interface FirewallHook {
  /** `filter`, `nat`, `route`. */
  readonly type: string;
  /** `input`, `prerouting`; `ingress` of netdev tables. */
  readonly hook: string;
  readonly priority: number;
  readonly policy: "accept" | "drop";
}

/** One chain; `rules` is undefined where they were not asked for. */
export interface FirewallChain {
  readonly name: string;
  readonly base: FirewallHook | undefined;
  readonly rules: readonly FirewallRule[] | undefined;
}

/** One table. */
export interface FirewallTable {
  readonly engine: FirewallEngine;
  readonly family: FirewallFamily;
  readonly name: string;
  /** Its hooks are not called. */
  readonly isDormant: boolean;
  /** Only the program that made it may change it. */
  readonly isOwned: boolean;
  readonly chains: readonly FirewallChain[];
}

/** Which chains' rules are not worth reading: a proxy may have a hundred thousand. */
export interface FirewallQuestion {
  /** Whether the rules of this chain are wanted. */
  wantsRules(table: Pick<FirewallTable, "engine" | "family" | "name">, chain: string): boolean;
}
