/**
 * Whether anybody else committed anything: the ruleset's generation moves by one with every commit of
 * anybody. While our own commits explain it, nobody else can have changed our table, and there is
 * nothing to read.
 */
import type { OwnCommits } from "./own_commits.ts";
import type { CommitReceipt } from "./transport.ts";

/** What the count needs. */
export interface ForeignCommitsOptions {
  /** The ruleset's generation now. */
  readonly generation: () => Promise<number>;
  readonly ownCommits: OwnCommits;
}

/** Keeps count of the generation for one writer. */
export class ForeignCommits {
  readonly #generation: () => Promise<number>;
  readonly #ownCommits: OwnCommits;
  #expected: number | undefined;

  constructor({ generation, ownCommits }: ForeignCommitsOptions) {
    this.#generation = generation;
    this.#ownCommits = ownCommits;
  }

  /**
   * Takes note of a commit of ours. `isSurelyAChange` says that the kernel moves its generation for
   * it in any case: what somebody else added just before the kernel does not add again, and its
   * generation stands still; to count such a batch would hide their commit.
   */
  note(receipt: CommitReceipt, { isSurelyAChange }: { readonly isSurelyAChange: boolean }): void {
    const { after, before } = receipt;
    const isExplained = after === before + 1 || (after === before && !isSurelyAChange);
    if (isExplained) this.#ownCommits.note(receipt);
    else this.#expected = undefined;
  }

  /** The generation to remember by `agree` once what is read from now on turns out to be right. */
  async generation(): Promise<number> {
    return await this.#generation();
  }

  /** What is ours was as it should be at this generation. */
  agree(generation: number): void {
    this.#expected = generation;
  }

  /** Whether anybody else committed anything since that generation. */
  async isMovedSince(generation: number): Promise<boolean> {
    return await this.#generation() !== this.#ownCommits.follow(generation);
  }

  /** Whether anybody else committed anything since. */
  async isMoved(): Promise<boolean> {
    const generation = await this.#generation();
    if (this.#expected === undefined) return true;
    this.#expected = this.#ownCommits.follow(this.#expected);
    return generation !== this.#expected;
  }
}
