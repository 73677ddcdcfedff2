/** Access to nf_tables as the rest of the program sees it; netlink and the fake implement it. */
import type { CommitReceipt, CommitSeries } from "../nf_tables/transport.ts";
import type { ElementList } from "./element_list.ts";
import type {
  NftChain,
  NftElement,
  NftOperation,
  NftRule,
  NftSet,
  NftTable,
} from "./operations.ts";

/** The table without its elements, and without chains that belong to a single rule. Objects are in the kernel's order; rules in the order of their chain. */
export interface NftTableListing {
  /** Nothing of it has an effect: somebody gave it the flag `dormant`. */
  readonly isDormant: boolean;
  /** The netlink port of the only socket that may change it; undefined where everybody may. */
  readonly ownerPort: number | undefined;
  readonly chains: readonly NftChain[];
  readonly sets: readonly NftSet[];
  /** How many elements each set has, by name; empty where the kernel does not tell (6.18 does). */
  readonly counts: ReadonlyMap<string, number>;
  /** Rules of anybody; one that is not in our language matches none of ours. */
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
 * `commit` is one atomic batch: all or nothing. It throws `NfTablesError`, which names each failed
 * operation by its index. An empty list writes nothing and gives no receipt.
 */
export interface Nftables {
  /**
   * How many bytes the socket takes at once; Infinity where this program has the right to make its
   * buffer as large as it needs. A larger batch is refused as a whole, with EMSGSIZE.
   */
  readonly largestBatch: number;
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
  /**
   * undefined when there is no such table. With the names of the chains that should be there it is short
   * also where others have very many chains.
   */
  listTable(
    table: NftTable,
    expectedChains?: readonly string[],
  ): Promise<NftTableListing | undefined>;
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
    desired: ElementList | Promise<ElementList>,
  ): Promise<NftElementDifference>;
  /**
   * Whether the set has all of these elements as they are here, and none of their keys says anything
   * else. Costs what they cost, however large the set is.
   */
  holdsElements(table: NftTable, set: NftSet, elements: readonly NftElement[]): Promise<boolean>;
  /** Whether the set has an element for every key that it has no other for. */
  hasCatchAll(table: NftTable, set: NftSet): Promise<boolean>;
  listTables(): Promise<readonly NftTable[]>;
  /**
   * Which of these chains the table has, in the order of the names; none where there is no such table.
   * One question for each name, however many chains there are.
   */
  findChains(table: NftTable, names: readonly string[]): Promise<readonly string[]>;
}
