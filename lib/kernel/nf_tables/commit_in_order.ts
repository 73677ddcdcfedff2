/**
 * Batch after batch, with one put together while the kernel works on another: a first load takes as
 * long as the slower of the two, not as long as both.
 */
import type { Clock } from "../../base/clock.ts";
import { turnOfTheEventLoop } from "../../base/event_loop.ts";
import { CommitSeries } from "./transport.ts";

/** The event loop gets its turn at least this often. */
const longestTurnMs = 10;
/** Enough that the kernel always has work, few enough that they fit into memory. */
const mostUnderWay = 2;

/** The batch that failed, and how. */
export interface FailedBatch<Batch> {
  readonly batch: Batch;
  readonly error: unknown;
}

/** What the batches go through. */
export interface CommitInOrderOptions<Batch> {
  /** Hands a batch over without waiting for those before; undefined when there is nothing in it. */
  readonly commit: (batch: Batch, series: CommitSeries) => Promise<void> | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Commits the batches in this order until one is refused, of which it tells; none after it is sent.
 * When it returns or throws, nothing is under way.
 */
export async function commitInOrder<Batch>(
  batches: Iterable<Batch>,
  { clock, commit, signal }: CommitInOrderOptions<Batch>,
): Promise<FailedBatch<Batch> | undefined> {
  const series = new CommitSeries();
  const underWay: Promise<FailedBatch<Batch> | undefined>[] = [];
  let failed: FailedBatch<Batch> | undefined;
  let turnSince = clock.monotonic();
  try {
    for (const batch of batches) {
      signal.throwIfAborted();
      const committed = commit(batch, series);
      if (committed) {
        underWay.push(committed.then(() => undefined, (error: unknown) => ({ batch, error })));
        if (underWay.length > mostUnderWay) failed = await underWay.shift();
        if (failed) break;
      }
      if (clock.monotonic() - turnSince < longestTurnMs) continue;
      await turnOfTheEventLoop();
      turnSince = clock.monotonic();
    }
  } finally {
    for (const each of underWay) failed ??= await each;
    await Promise.all(underWay);
  }
  return failed;
}
