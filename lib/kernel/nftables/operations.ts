/**
 * Changes of one nf_tables table as values. The same list of operations is encoded for netlink,
 * printed as `nft` text, and applied by the fake: what is tested is what is written.
 *
 * Only forms that `nft list ruleset` can print and read back are in this language.
 */

export type NftFamily = "ip" | "ip6";

/** A table is the unit of ownership: one family and name. */
export interface NftTable {
  readonly family: NftFamily;
  readonly name: string;
}

/** What an element's key or value is made of. `index` is a `numgen` result: sets with it are listed by `typeof`. */
export type NftFieldType = "addr" | "inet_proto" | "inet_service" | "index";

/**
 * Canonical address or CIDR text for `addr`, `tcp|udp|sctp` for `inet_proto`, else a number. In a set
 * with intervals a listing may also show `first-last` for what is no CIDR.
 */
export type NftField = string | number;

export type NftVerdict =
  | { readonly kind: "accept" | "drop" | "return" }
  | { readonly kind: "jump" | "goto"; readonly chain: string };

export interface NftSet {
  readonly name: string;
  /** Empty in a listing: a set of another kind, which our language cannot say. It can be deleted by name. */
  readonly key: readonly NftFieldType[];
  /** Absent: a set. `verdict`: a verdict map. Else a map to these fields. */
  readonly value?: "verdict" | readonly NftFieldType[];
  /** Keys may hold CIDRs. */
  readonly interval?: boolean;
  /** Filled by rules, elements go after this time. */
  readonly dynamicTimeoutSeconds?: number;
  readonly comment?: string;
}

export interface NftElement {
  /** Empty: the catch-all element, which is found where no other is. */
  readonly key: readonly NftField[];
  readonly value?: NftVerdict | readonly NftField[];
  readonly comment?: string;
  /** In a set that rules fill: gone after this time instead of the set's own. Not told by listings. */
  readonly timeoutSeconds?: number;
}

export type NftHook = "prerouting" | "input" | "forward" | "output" | "postrouting";

/** `route` and `drop` are never written, but somebody else's edit of a chain shows so in a listing. */
export interface NftBaseChain {
  readonly type: "filter" | "nat" | "route";
  readonly hook: NftHook;
  readonly priority: number;
  /** Default: accept. */
  readonly policy?: "drop";
}

export interface NftChain {
  readonly name: string;
  /** Present for chains that the kernel calls itself. */
  readonly base?: NftBaseChain;
  readonly comment?: string;
}

/** What a rule looks at in a packet; several are concatenated. */
export type NftSelector =
  | "saddr"
  | "daddr"
  | "l4proto"
  | "dport"
  | { readonly numgenModulus: number }
  /** Always this number. It is said as `numgen random mod 1 offset N`: nft knows no other constant in a key. */
  | { readonly constant: number };

/**
 * What a rule compares with: a named set, or literal values (an anonymous set when there are several)
 * for a single selector of a packet's field. Overlapping and adjacent CIDRs are merged.
 */
export type NftOperand = { readonly set: string } | { readonly values: readonly NftField[] };

export type NftStatement =
  | {
    readonly kind: "match";
    readonly select: readonly NftSelector[];
    readonly not?: boolean;
    readonly in: NftOperand;
  }
  | {
    readonly kind: "match-interface";
    readonly not?: boolean;
    readonly name: string;
    readonly prefix?: boolean;
  }
  | { readonly kind: "match-local"; readonly select: "saddr" | "daddr" }
  | { readonly kind: "match-ct-new" }
  | { readonly kind: "match-ct-dnat" }
  | { readonly kind: "match-mark"; readonly mask: number }
  | { readonly kind: "set-mark-or"; readonly mask: number }
  | { readonly kind: "set-mark-xor"; readonly mask: number }
  | { readonly kind: "verdict"; readonly verdict: NftVerdict }
  /** Verdict map lookup in a named map. */
  | { readonly kind: "vmap"; readonly select: readonly NftSelector[]; readonly map: string }
  /** Verdict chosen at random: an anonymous map from `numgen random mod N`. */
  | { readonly kind: "random-verdict"; readonly verdicts: readonly NftVerdict[] }
  /** Adds or refreshes an element of a dynamic set, for this time instead of the set's own. */
  | {
    readonly kind: "update-set";
    readonly set: string;
    readonly select: readonly NftSelector[];
    readonly timeoutSeconds?: number;
  }
  | { readonly kind: "dnat"; readonly address: string; readonly port: number }
  /** Destination from a named map of addr . port. A miss goes on with the next rule. */
  | { readonly kind: "dnat-map"; readonly select: readonly NftSelector[]; readonly map: string }
  /** "Decided, unchanged": keeps the destination and ends the nat lookup. */
  | { readonly kind: "dnat-same" }
  | { readonly kind: "masquerade"; readonly fullyRandom: boolean }
  | { readonly kind: "reject"; readonly tcpReset?: boolean };

export interface NftRule {
  readonly chain: string;
  readonly statements: readonly NftStatement[];
  readonly comment?: string;
}

/** One change. Deletions name things that exist; additions are refused by the kernel when other data is there. */
export type NftOperation =
  /** A table that is there is woken, or with `dormant` sent to sleep: its hooks are not called. */
  | { readonly kind: "add-table"; readonly dormant?: true }
  | { readonly kind: "delete-table" }
  | { readonly kind: "add-chain"; readonly chain: NftChain }
  | { readonly kind: "flush-chain"; readonly chain: string }
  | { readonly kind: "delete-chain"; readonly chain: string }
  | { readonly kind: "add-rule"; readonly rule: NftRule }
  | { readonly kind: "add-set"; readonly set: NftSet }
  | { readonly kind: "delete-set"; readonly set: string }
  | { readonly kind: "flush-set"; readonly set: string }
  | {
    readonly kind: "add-elements";
    readonly set: string;
    readonly elements: readonly NftElement[];
  }
  | {
    readonly kind: "delete-elements";
    readonly set: string;
    readonly elements: readonly NftElement[];
  };
