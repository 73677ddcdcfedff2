/** Long work gives way to everything else that waits: requests, timers, signals. */
import { setImmediate } from "node:timers";

/** Resolves once everything that can be done at once has had its turn. */
export function turnOfTheEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
