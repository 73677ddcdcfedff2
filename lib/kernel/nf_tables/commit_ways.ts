/**
 * Which way a batch takes to the kernel. The worker builds on messages between threads, which cost ten
 * times what the kernel takes for a small batch: that one is sent on a thread of the runtime's instead.
 * Either way this thread waits for nobody, and batches take effect in the order in which they came.
 */
import { StoppedSeries } from "./stopped_series.ts";
import type { CommitResult } from "./transport.ts";

/** The kernel takes a batch of so many bytes in a millisecond or so. */
const smallBatch = 16_384;

/** What commits. */
export interface CommitWaysOptions {
  /** See `DirectTransport.commitLater`: one at a time. */
  readonly small: (bytes: Uint8Array<ArrayBuffer>) => Promise<CommitResult | undefined>;
  /** Any number at a time, in order. */
  readonly large: (
    bytes: Uint8Array<ArrayBuffer>,
    series: number | undefined,
  ) => Promise<CommitResult>;
}

/** Batches of any size, in order. */
export class CommitWays {
  readonly #options: CommitWaysOptions;
  readonly #stopped = new StoppedSeries();
  /** The last small batch, which those behind it wait for. */
  #lastSmall: Promise<unknown> = Promise.resolve();
  #small = 0;
  /** How many batches have to come back from the worker: the next one follows them there. */
  #large = 0;

  constructor(options: CommitWaysOptions) {
    this.#options = options;
  }

  /** On its way when this returns. */
  commit(bytes: Uint8Array<ArrayBuffer>, series: number | undefined): Promise<CommitResult> {
    if (bytes.length > smallBatch || this.#large > 0) return this.#commitLarge(bytes, series);
    const { large, small } = this.#options;
    this.#small++;
    const result = this.#lastSmall.then(() =>
      // The worker's socket says why a batch was not taken.
      this.#unlessStopped(bytes, series, async () => await small(bytes) ?? large(bytes, series))
    );
    this.#lastSmall = result.catch(() => {}).then(() => this.#small--);
    return result;
  }

  /** Calls back as soon as no small batch is on its way: at once where none is. */
  whenIdle(callback: () => void): void {
    if (this.#small === 0) callback();
    else this.#lastSmall.then(callback);
  }

  async #commitLarge(
    bytes: Uint8Array<ArrayBuffer>,
    series: number | undefined,
  ): Promise<CommitResult> {
    const { large } = this.#options;
    this.#large++;
    try {
      await this.#lastSmall;
      return await this.#unlessStopped(bytes, series, () => large(bytes, series));
    } finally {
      this.#large--;
    }
  }

  async #unlessStopped(
    bytes: Uint8Array<ArrayBuffer>,
    series: number | undefined,
    send: () => Promise<CommitResult>,
  ): Promise<CommitResult> {
    if (this.#stopped.has(series)) return { kind: "skipped", bytes };
    let isApplied = false;
    try {
      const result = await send();
      isApplied = result.kind === "applied";
      return result;
    } finally {
      if (!isApplied) this.#stopped.add(series);
    }
  }
}
