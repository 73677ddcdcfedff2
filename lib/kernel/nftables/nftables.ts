/** Access to nf_tables as the rest of the program sees it; netlink and the fake implement it. */
import type {
  NftChain,
  NftElement,
  NftOperation,
  NftRule,
  NftSet,
  NftTable,
} from "./operations.ts";

/** The table without its elements. Objects are in the kernel's order; rules in the order of their chain. */
export interface NftTableListing {
  readonly chains: readonly NftChain[];
  readonly sets: readonly NftSet[];
  /** Decoded where they use our language; `undefined` statements mean a rule that somebody else wrote. */
  readonly rules: readonly NftListedRule[];
}

export interface NftListedRule {
  readonly chain: string;
  readonly handle: bigint;
  /** Whether this rule does exactly what `rule` says. */
  matches(rule: NftRule): boolean;
}

/** An element with the right key and another value (or comment) is in both lists. */
export interface NftElementDifference {
  /** Desired and not in the kernel, in the order of `desired`. */
  readonly missing: readonly NftElement[];
  /** In the kernel and not desired: delete these before the missing are added. */
  readonly extra: readonly NftElement[];
}

export interface CommitOptions {
  /** Fail with a stale-generation error if the ruleset changed since. */
  readonly generation?: number;
  readonly signal?: AbortSignal;
  /** A batch behind a refused one of the same series is not sent, and fails too. */
  readonly series?: CommitSeries;
}

/**
 * Batches that build on each other: with it the next can be handed over while the kernel works on one.
 * An object of this class stands for one series.
 */
export class CommitSeries {
  readonly name = "series";
}

/** The ruleset's generation just before a batch and just after it: more than one apart where others wrote. */
export interface CommitReceipt {
  readonly before: number;
  readonly after: number;
}

/**
 * `commit` is one atomic batch: all or nothing. It throws `NftablesError`, which names each failed
 * operation by its index. An empty list writes nothing and
 * gives no receipt.
 */
export interface Nftables {
  /**
   * The ruleset's generation now: moves with every committed change of anybody in this network
   * namespace. Does not wait for commits that are under way.
   */
  generation(): Promise<number>;
  commit(
    table: NftTable,
    operations: readonly NftOperation[],
    options?: CommitOptions,
  ): Promise<CommitReceipt | undefined>;
  /** undefined when there is no such table. */
  listTable(table: NftTable): Promise<NftTableListing | undefined>;
  /** The set's elements; intervals as CIDRs. `set` says how to decode them. */
  listElements(table: NftTable, set: NftSet): Promise<readonly NftElement[]>;
  /**
   * What has to be written so that the set holds exactly these elements. Cheaper than `listElements`:
   * the comparison of a large set runs beside this thread, and objects are made for the differences only.
   * The set is read at once, before the desired elements are known.
   */
  compareElements(
    table: NftTable,
    set: NftSet,
    desired: readonly NftElement[] | Promise<readonly NftElement[]>,
  ): Promise<NftElementDifference>;
  listTables(): Promise<readonly NftTable[]>;
}

/** One operation that the kernel refused. */
export interface NftFailure {
  /** Index into the operations, or -1 for the batch as a whole. */
  readonly operation: number;
  /** For element operations: which element, where the kernel tells. */
  readonly element?: number;
  readonly errno: number;
  /** The kernel's own words (extended ack), or the errno's name. */
  readonly message: string;
}
