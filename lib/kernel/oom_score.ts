import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import type { Self } from "./self.ts";

/** What setting the score needs. */
export interface OomScoreTarget {
  readonly self: Self;
  readonly clock: Clock;
  readonly logger: Logger;
}

const ATTEMPTS = 2;
const RETRY_MS = 100;

/**
 * Says how ready this process is to be killed when memory runs out. Tries twice; that it may not
 * (an unprivileged container) is no reason not to run, and is only logged, at verbosity 2.
 */
export async function applyOomScore(
  score: number,
  { clock, logger, self }: OomScoreTarget,
  signal?: AbortSignal,
): Promise<void> {
  for (let attempt = 1;; attempt++) {
    try {
      return self.setOomScoreAdj(score);
    } catch (error) {
      if (attempt < ATTEMPTS && !signal?.aborted) {
        await clock.sleep(RETRY_MS, signal);
        continue;
      }
      const reason = error instanceof Error ? error.message : String(error);
      return logger.verbose(2, "Failed to apply OOMScore", { reason });
    }
  }
}
