/**
 * Commits batches of one table and keeps count of the ruleset's generation, which moves by one with
 * every commit of anybody. While it is what our own commits make it, nobody else can have changed
 * the table, and there is nothing to read.
 */
import type { CommitOptions, Nftables } from "../../kernel/nftables/nftables.ts";
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
    { after, signal }: Pick<CommitOptions, "after" | "signal">,
  ): Promise<void> {
    if (operations.length === 0) return;
    const ready = operations.some(isSurelyAChange) ? after : this.#lookFirst(after);
    // The commit fails with it; one that fails before must not leave it unlooked at.
    ready?.catch(() => {});
    await this.#nftables.commit(this.#table, operations, {
      ...(signal && { signal }),
      ...(ready && { after: ready }),
    });
    this.#written += operations.length;
    if (this.#expected !== undefined) this.#expected++;
  }

  /**
   * What somebody else added meanwhile the kernel does not add again, and its generation stands still:
   * to count such a batch would hide their commit. After anybody's commit the table has to be read.
   */
  async #lookFirst(after: Promise<unknown> | undefined): Promise<void> {
    if (after) await after;
    if (this.#expected !== undefined && await this.isMoved()) this.#expected = undefined;
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

/** The kernel moves its generation for every batch with one of these. */
function isSurelyAChange({ kind }: NftOperation): boolean {
  return kind === "add-rule" || kind.startsWith("delete-");
}
