/**
 * Access to iptables' rules as the rest of the program sees it, one family at a time. Three things
 * implement it: nf_tables by netlink in the form of `iptables-nft`, the older tables, written by
 * `iptables-legacy-restore`, and a fake.
 */
import type { IpFamily } from "../../base/ip_family.ts";
import type { XtChange, XtPlace, XtRule, XtTable } from "./rules.ts";

/** Which of the kernel's two rule engines holds the rules. They do not see each other's. */
export type XtBackend = "nft" | "legacy";

/** A chain of a listing, without its rules. */
export interface XtChain {
  readonly table: XtTable;
  readonly name: string;
  /** The kernel calls it itself. */
  readonly isBuiltIn: boolean;
  /**
   * Differs from that of an earlier reading where the chain was changed since. In nft not for a rule that was
   * replaced by another one: only its rules tell that. In legacy it is made of all that the rules say.
   */
  readonly fingerprint: string | number;
}

/** A rule of a listing. */
export interface XtListedRule {
  /** Equal exactly for rules that mean the same: `ruleText` of ours, something else where we lack the words. */
  readonly key: string;
  /** The chain it leads to. */
  readonly jump?: string;
  /** Undefined: our language cannot say it, so somebody else wrote it. */
  readonly rule?: XtRule;
}

/** The state of a family's rules at one moment; equal to a later one while nobody changed anything. */
export type XtStamp = string;

/**
 * The state just before a commit and just after it. `isOwn`: nobody else wrote in between (the legacy
 * backend cannot tell and says so always), so whoever trusted `before` may trust `after`.
 */
export interface XtReceipt {
  readonly before: XtStamp;
  readonly after: XtStamp;
  readonly isOwn: boolean;
}

export interface XtCommitOptions {
  readonly signal?: AbortSignal;
}

/** A chain that somebody touched. */
export interface XtTouchedChain extends XtPlace {
  /** It came, went, or has another name; else only its rules are others. */
  readonly isListed: boolean;
}

/** What a commit of anybody touched of a family, and the state that it left. */
export interface XtTouched {
  readonly after: XtStamp;
  readonly chains: readonly XtTouchedChain[];
}

/** What the kernel told of commits. */
export interface XtHearing {
  /** Of the commit that changed this state. `later`: still to be told; `lost`: will never be. */
  of(before: XtStamp): XtTouched | "later" | "lost";
}

/** Rules by chain. */
export interface XtRules {
  /** The rules of these chains in their order; a chain that is not there is left out. */
  rules(
    table: XtTable,
    chains: readonly string[],
  ): Promise<ReadonlyMap<string, readonly XtListedRule[]>>;
  /**
   * Those of the chains that do not hold exactly these rules, in the order of the map; a missing chain
   * is among them. Much cheaper than `rules` where there are many.
   */
  differing(
    table: XtTable,
    wanted: ReadonlyMap<string, readonly XtRule[]>,
  ): Promise<readonly string[]>;
  /**
   * Whether a chain surely holds exactly these rules. It may do so all the same where the answer is no. Absent
   * where that takes as long as `rules`.
   */
  holds?(table: XtTable, chain: string, rules: readonly XtRule[]): boolean;
}

/**
 * A look at some tables. The legacy backend has read all of them, and answers from that moment; the nft
 * backend asks the kernel for each answer.
 */
export interface XtReading extends XtRules {
  /** Every chain of these tables; none of a table that is not there. */
  readonly chains: readonly XtChain[];
}

/**
 * `commit` applies all changes or none (the legacy backend: all or none of each table, in the order
 * of their first change). It throws `XtablesError`, which names what was refused by its index. No
 * changes write nothing and give no receipt. Calls may overlap; the kernel sees commits in their order.
 */
export interface Xtables {
  readonly backend: XtBackend;
  /** Cheap enough to ask every second. */
  stamp(family: IpFamily): Promise<XtStamp>;
  /**
   * Tables that hold more or less than before; a rule in the place of another may not show. Absent where a stamp
   * is of all tables together.
   */
  moved?(before: XtStamp, after: XtStamp): readonly XtTable[];
  read(family: IpFamily, tables: readonly XtTable[]): Promise<XtReading>;
  /**
   * A number that is another one when a chain of these tables comes, goes or gets another fingerprint:
   * a small part of what `read` costs, least where it is the expected one. Absent where it would cost as much.
   */
  digest?(family: IpFamily, tables: readonly XtTable[], expected?: number): Promise<number>;
  /**
   * Rules as they are whenever somebody asks, without a list of the chains: one that is not there is like an
   * empty one. Absent where only whole tables can be read.
   */
  live?(family: IpFamily): XtRules;
  /**
   * What commits touched since somebody asked for the first time. What is remembered is bounded, so it should
   * be asked now and then. Absent where the backend tells nothing.
   */
  hear?(family: IpFamily): Promise<XtHearing>;
  commit(
    family: IpFamily,
    changes: readonly XtChange[],
    options?: XtCommitOptions,
  ): Promise<XtReceipt | undefined>;
  /**
   * For a load of many changes: they take effect together as those of one `commit`. Absent where that saves
   * nothing.
   */
  compose?(family: IpFamily, options?: XtComposeOptions): XtComposition;
}

/** How changes are put together. */
export interface XtComposeOptions {
  /** Ends what is under way. */
  readonly signal?: AbortSignal;
  /** The table that nearly all of them are for, in a backend that writes one table after the other. */
  readonly first?: XtTable;
}

/** A commit that is put together bit by bit. It keeps none of the changes, so a refusal names none of them. */
export interface XtComposition {
  /** How many changes there are. */
  readonly count: number;
  /** Whether these can be among them; false in nft for one that needs the number of a rule. */
  takes(changes: readonly XtChange[]): boolean;
  /** Puts these behind what is there. Throws `TypeError` for a rule that cannot be said. */
  add(changes: readonly XtChange[]): void;
  /** Once, when all of them are there. */
  commit(): Promise<XtReceipt>;
  /** Instead: nothing of it is written. */
  abandon(): Promise<void>;
}

/**
 * Why a change was refused. `not-found`: something that it names is not there; `exists`: something that
 * it adds is; `busy`: something that it deletes is used; `unsupported`: the kernel lacks what the rule
 * needs; `stale`: somebody else wrote at the same moment; `locked`: another program holds iptables'
 * lock; `not-permitted`: this process may not; `other`: what the message says.
 */
export type XtRefusal =
  | "not-found"
  | "exists"
  | "busy"
  | "unsupported"
  | "stale"
  | "locked"
  | "not-permitted"
  | "other";

/** One change that was refused. */
export interface XtFailure {
  /** Index into the changes, or -1 for the batch as a whole. */
  readonly change: number;
  readonly refusal: XtRefusal;
  /** The kernel's or the tool's own words. */
  readonly message: string;
}
