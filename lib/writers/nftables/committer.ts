/**
 * Commits batches of one table and keeps count of the ruleset's generation, which moves by one with
 * every commit of anybody. While our own commits explain it, nobody else can have changed the table,
 * and there is nothing to read.
 */
import type { CommitOptions, CommitReceipt, Nftables } from "../../kernel/nftables/nftables.ts";
import type { NftOperation, NftTable } from "../../kernel/nftables/operations.ts";
import type { OwnCommits } from "./own_commits.ts";

/** What a committer works with. */
export interface CommitterOptions {
  readonly nftables: Nftables;
  readonly table: NftTable;
  readonly ownCommits: OwnCommits;
}

export class Committer {
  readonly #nftables: Nftables;
  readonly #table: NftTable;
  readonly #ownCommits: OwnCommits;
  #expected: number | undefined;
  #written = 0;

  constructor(options: CommitterOptions) {
    this.#nftables = options.nftables;
    this.#table = options.table;
    this.#ownCommits = options.ownCommits;
  }

  /** How many operations were committed. */
  get written(): number {
    return this.#written;
  }

  /** One atomic batch of changes that the table needs; an empty one does nothing. */
  async commit(
    operations: readonly NftOperation[],
    options: Pick<CommitOptions, "series" | "signal">,
  ): Promise<void> {
    const receipt = await this.#nftables.commit(this.#table, operations, options);
    if (!receipt) return;
    this.#written += operations.length;
    if (isExplained(receipt, operations)) this.#ownCommits.note(receipt);
    else this.#expected = undefined;
  }

  /** The generation to remember by `agree` once what is read from now on turns out to be right. */
  async generation(): Promise<number> {
    return await this.#nftables.generation();
  }

  /** The table was as it should be at this generation. */
  agree(generation: number): void {
    this.#expected = generation;
  }

  /** Whether anybody else committed anything since. */
  async isMoved(): Promise<boolean> {
    const generation = await this.#nftables.generation();
    if (this.#expected === undefined) return true;
    this.#expected = this.#ownCommits.follow(this.#expected);
    return generation !== this.#expected;
  }
}

/**
 * Whether nobody else wrote meanwhile. What somebody else added just before the kernel does not add
 * again, and its generation stands still: to count such a batch would hide their commit.
 */
function isExplained(
  { after, before }: CommitReceipt,
  operations: readonly NftOperation[],
): boolean {
  return after === before + 1 || (after === before && !operations.some(isSurelyAChange));
}

/** The kernel moves its generation for every batch with one of these. */
function isSurelyAChange({ kind }: NftOperation): boolean {
  return kind === "add-rule" || kind.startsWith("delete-");
}
