/** What a proxy runs on. */
import type { Clock } from "../../lib/base/clock.ts";
import type { Kernel } from "../../lib/kernel/kernel.ts";

/** This machine, or one in memory. */
export interface Machine {
  readonly kernel: Kernel;
  readonly clock: Clock;
  readonly hostName: string;
  /** Where its proxy's record is; nothing is recorded where it is absent. */
  readonly recordFolder?: string;
}
