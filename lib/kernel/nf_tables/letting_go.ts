/**
 * The kernel frees a rule, and lets go of the set or counter that it holds, a moment after the commit
 * that removed it: whoever removes those too tries a few times.
 */
import { systemClock } from "../../base/clock.ts";

/** Before each other attempt. */
const waitsMs = [10, 40, 150, 800];

/** Tries all, and then again those that an attempt found still in use. Resolves to what stays in use. */
export async function untilRulesLetGo<T>(
  all: readonly T[],
  attempt: (waiting: readonly T[]) => Promise<readonly T[]> | readonly T[],
  signal: AbortSignal,
): Promise<readonly T[]> {
  let waiting = all;
  for (const waitMs of [0, ...waitsMs]) {
    if (waiting.length === 0) break;
    await systemClock.sleep(waitMs, signal);
    waiting = await attempt(waiting);
  }
  return waiting;
}
