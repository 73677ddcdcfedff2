/** Commits batches of one table, counts what it wrote, and tells our commits from everybody else's. */
import { ForeignCommits } from "../../kernel/nf_tables/foreign_commits.ts";
import type { OwnCommits } from "../../kernel/nf_tables/own_commits.ts";
import { BatchMeasure } from "../../kernel/nftables/batch_measure.ts";
import type { CommitOptions, Nftables } from "../../kernel/nftables/nftables.ts";
import type { NftOperation, NftTable } from "../../kernel/nftables/operations.ts";
import type { BatchLimit } from "./cut_batch.ts";
import { definitionOf } from "./shards.ts";

/** What a committer works with. */
export interface CommitterOptions {
  readonly nftables: Nftables;
  readonly table: NftTable;
  readonly ownCommits: OwnCommits;
}

export class Committer {
  readonly #nftables: Nftables;
  readonly #table: NftTable;
  /** Whether the table has to be looked at. */
  readonly foreign: ForeignCommits;
  readonly #measure: BatchMeasure;
  #written = 0;

  constructor({ nftables, ownCommits, table }: CommitterOptions) {
    this.#nftables = nftables;
    this.#table = table;
    this.#measure = new BatchMeasure({ table, setOf: definitionOf });
    this.foreign = new ForeignCommits({ generation: () => nftables.generation(), ownCommits });
  }

  /** How many operations were committed. */
  get written(): number {
    return this.#written;
  }

  /** What the socket takes at once. */
  get limit(): BatchLimit {
    return { bytes: this.#nftables.largestBatch, measure: this.#measure };
  }

  /** One atomic batch of changes that the table needs; an empty one does nothing. */
  async commit(
    operations: readonly NftOperation[],
    options: Pick<CommitOptions, "series" | "signal">,
  ): Promise<void> {
    const receipt = await this.#nftables.commit(this.#table, operations, options);
    if (!receipt) return;
    this.#written += operations.length;
    this.foreign.note(receipt, { isSurelyAChange: operations.some(isSurelyAChange) });
  }
}

/** The kernel moves its generation for every batch with one of these. */
function isSurelyAChange({ kind }: NftOperation): boolean {
  return kind === "add-rule" || kind.startsWith("delete-");
}
