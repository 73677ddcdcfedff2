/**
 * The batches of a plan on their way to the kernel, which works on one commit while the next is put
 * together. Many changes are put together bit by bit where the backend can do that, so that their rules
 * need not stay in memory until their commit.
 */
import type { XtChange } from "../../kernel/xtables/rules.ts";
import type { XtBackend, XtComposition } from "../../kernel/xtables/xtables.ts";
import type { Batch } from "./batch.ts";

/** How a load is cut. */
export interface Cut {
  /** As many changes are put together bit by bit; fewer are kept, so that a refusal names one of them. */
  readonly changesPerPiece: number;
  /** New chains are written in commits of so many changes. */
  readonly leavesPerCommit: number;
}

/**
 * In nft a commit is a call of the kernel. The older engine writes whole tables, but its tool may read them as soon as
 * it is known that something is to be changed.
 */
export const cuts: Readonly<Record<XtBackend, Cut>> = {
  nft: { changesPerPiece: 100, leavesPerCommit: 4_000 },
  legacy: { changesPerPiece: 1, leavesPerCommit: Infinity },
};

/** What was not taken, and why; without the batch where it was not kept. */
export interface FailedBatch {
  readonly batch?: Batch;
  readonly error: unknown;
}

/** What a load is committed by. */
export interface LoadOptions {
  readonly cut: Cut;
  readonly commit: (batch: Batch) => Promise<unknown>;
  /** Begins to put changes together; undefined where all of them are to be kept. */
  readonly compose: () => XtComposition | undefined;
  readonly commitComposed: (composition: XtComposition, tally: Tally) => Promise<unknown>;
  /** Told of changes that are not kept. */
  readonly composing: (changes: readonly XtChange[]) => void;
}

/** How many changes there are, and how many of them add a rule to these tables. */
export interface Tally {
  readonly changes: number;
  readonly nat: number;
  readonly filter: number;
}

export class Load {
  readonly #options: LoadOptions;
  #composition: XtComposition | undefined;
  #tally: Tally = noChanges;
  #underWay: Promise<FailedBatch | undefined> = Promise.resolve(undefined);

  constructor(options: LoadOptions) {
    this.#options = options;
  }

  /** Commits the batch behind those before. Resolves to one of those that was refused: nothing may follow then. */
  async take(batch: Batch): Promise<FailedBatch | undefined> {
    if (this.#compose(batch)) {
      const { count = 0 } = this.#composition ?? {};
      return count < this.#options.cut.leavesPerCommit ? undefined : await this.#commitComposed();
    }
    const failed = this.#composition && await this.#commitComposed() || await this.#underWay;
    if (!failed) this.#send(this.#options.commit(batch), batch);
    return failed;
  }

  /** Once all batches were taken. */
  async finish(): Promise<FailedBatch | undefined> {
    const failed = this.#composition && await this.#commitComposed();
    return failed ?? await this.#underWay;
  }

  /** Until nothing is on its way any more; what was not to be committed is given up. */
  async settled(): Promise<void> {
    await this.#composition?.abandon();
    await this.#underWay;
  }

  /** False where the changes have to be kept. */
  #compose({ changes }: Batch): boolean {
    const { changesPerPiece } = this.#options.cut;
    if (!this.#composition && changes.length < changesPerPiece) return false;
    const composition = this.#composition ?? this.#options.compose();
    if (!composition?.takes(changes)) return false;
    this.#composition = composition;
    this.#options.composing(changes);
    composition.add(changes);
    this.#tally = sum(this.#tally, tallyOf(changes));
    return true;
  }

  async #commitComposed(): Promise<FailedBatch | undefined> {
    const failed = await this.#underWay;
    const composition = this.#composition;
    if (failed || !composition) return failed;
    this.#send(this.#options.commitComposed(composition, this.#tally));
    this.#composition = undefined;
    this.#tally = noChanges;
    return undefined;
  }

  #send(commit: Promise<unknown>, batch?: Batch): void {
    this.#underWay = commit.then(
      () => undefined,
      (error: unknown) => ({ error, ...(batch && { batch }) }),
    );
  }
}

const noChanges: Tally = { changes: 0, nat: 0, filter: 0 };

/** What these changes are. */
export function tallyOf(changes: readonly XtChange[]): Tally {
  const rules = { nat: 0, filter: 0 };
  for (const { kind, table } of changes) {
    const isRule = kind === "append-rule" || kind === "insert-rule";
    if (isRule && (table === "nat" || table === "filter")) rules[table]++;
  }
  return { changes: changes.length, ...rules };
}

function sum(a: Tally, b: Tally): Tally {
  return { changes: a.changes + b.changes, nat: a.nat + b.nat, filter: a.filter + b.filter };
}
