/** Gives memory back that was needed once: for the start, for a list after an outage. */
import type { Clock } from "../../lib/base/clock.ts";
import type { Self } from "../../lib/kernel/self.ts";

/** After this the garbage of a start has been collected. */
const settledMs = 10_000;
const everyMs = 60_000;

/** Until the signal. */
export async function returnMemory(
  self: Self,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  for (let pauseMs = settledMs; !signal.aborted; pauseMs = everyMs) {
    await clock.sleep(pauseMs, signal);
    if (!signal.aborted) self.returnFreeMemory();
  }
}
