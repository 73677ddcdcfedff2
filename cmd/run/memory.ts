/**
 * Gives memory back that was needed once: for the start, for a list after an outage. Left to itself
 * the engine collects such garbage some seconds later, whatever goes on then, and a change that comes
 * meanwhile waits for a tenth of a second: the program is built without that (`scripts/build`) and
 * chooses a quiet moment.
 */
import type { Clock } from "../../lib/base/clock.ts";
import type { Self } from "../../lib/kernel/self.ts";

/** After this a start is over. */
const settledMs = 10_000;
const everyMs = 60_000;
/** Nothing was heard for so long: few will wait for what takes some ten milliseconds. */
const quietMs = 2_000;
/** Times the heap after the last collection: less garbage is left to the engine's own rhythm. */
const worthCollecting = 1.25;
/** Where of the endpoints of then only this part is left, the heap is mostly garbage however small it is. */
const muchWent = 0.8;

/** What memory is returned by, and when. */
export interface ReturnMemoryOptions {
  readonly self: Self;
  readonly clock: Clock;
  /** How many changes were heard of so far. */
  readonly changes: () => number;
  /** How many endpoints are known. */
  readonly endpoints: () => number;
}

/** Until the signal. */
export async function returnMemory(
  { changes, clock, endpoints, self }: ReturnMemoryOptions,
  signal: AbortSignal,
): Promise<void> {
  let after = { heapBytes: 0, endpoints: 0 };
  for (let pauseMs = settledMs; !signal.aborted; pauseMs = everyMs) {
    const before = changes();
    await clock.sleep(pauseMs - quietMs, signal);
    const heard = changes();
    await clock.sleep(quietMs, signal);
    if (signal.aborted) return;
    // After a start or an hour's changes alike: what is worth it, when nothing goes on.
    const isWorthIt = self.heapBytes() > after.heapBytes * worthCollecting ||
      endpoints() < after.endpoints * muchWent;
    if (changes() === heard && isWorthIt) {
      self.collectGarbage();
      after = { heapBytes: self.heapBytes(), endpoints: endpoints() };
    }
    // With nothing heard there is nothing new to give back.
    if (heard !== before || pauseMs === settledMs) self.returnFreeMemory();
  }
}
