/**
 * Batch after batch, with one put together while the kernel works on another: a first load takes as
 * long as the slower of the two, not as long as both.
 */
import { setImmediate } from "node:timers";
import type { Clock } from "../../base/clock.ts";
import { CommitSeries } from "../../kernel/nftables/nftables.ts";
import type { Batch } from "./batch.ts";
import type { Committer } from "./committer.ts";

/** The event loop gets its turn at least this often. */
const longestTurnMs = 10;
/** Enough that the kernel always has work, few enough that they fit into memory. */
const mostUnderWay = 2;

/** The batch that failed, and how. */
export interface FailedBatch {
  readonly batch: Batch;
  readonly error: unknown;
}

/** What the batches go through. */
export interface CommitInOrderOptions {
  readonly committer: Committer;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Commits the batches in this order until one is refused, of which it tells; none after it is sent.
 * When it returns or throws, nothing is under way.
 */
export async function commitInOrder(
  batches: Iterable<Batch>,
  { clock, committer, signal }: CommitInOrderOptions,
): Promise<FailedBatch | undefined> {
  const series = new CommitSeries();
  const underWay: Promise<FailedBatch | undefined>[] = [];
  let failed: FailedBatch | undefined;
  let turnSince = clock.monotonic();
  try {
    for (const batch of batches) {
      signal.throwIfAborted();
      if (batch.operations.length > 0) {
        const committed = committer.commit(batch.operations, { series, signal });
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

function turnOfTheEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
