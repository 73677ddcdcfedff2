/**
 * Commits batches of one table and keeps count of the ruleset's generation, which moves by one with
 * every commit of anybody. While it is what our own commits make it, nobody else can have changed
 * the table, and there is nothing to read.
 */
import type { CommitOptions, CommitReceipt, Nftables } from "../../kernel/nftables/nftables.ts";
import type { NftOperation, NftTable } from "../../kernel/nftables/operations.ts";

export class Committer {
  readonly #nftables: Nftables;
  readonly #table: NftTable;
  #expected: number | undefined;
  #written = 0;

  constructor(nftables: Nftables, table: NftTable) {
    this.#nftables = nftables;
    this.#table = table;
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
    const isOurs = receipt.before === this.#expected && isExplained(receipt, operations);
    this.#expected = isOurs ? receipt.after : undefined;
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
    return await this.#nftables.generation() !== this.#expected;
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
