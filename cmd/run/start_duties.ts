/** What a proxy sets on its node before it programs anything. */
import { describeError } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/log.ts";
import { applyConntrackSettings } from "../../lib/kernel/conntrack/settings.ts";
import type { Kernel } from "../../lib/kernel/kernel.ts";
import type { RunOptions } from "../run_options.ts";

export interface StartDuties {
  readonly options: RunOptions;
  readonly kernel: Kernel;
  readonly logger: Logger;
}

/**
 * Sizes the connection table and sets its timeouts. With an apiserver a failure ends the
 * start. With files it is only logged, and the settings stay as they are.
 */
export function prepareConntrack({ options, kernel, logger }: StartDuties): void {
  const { sysctl, host } = kernel;
  try {
    applyConntrackSettings(options.configuration.linux.conntrack, { sysctl, host, logger });
  } catch (error) {
    if (options.manifests.length === 0) {
      throw new Error(
        `Cannot prepare the connection table: ${describeError(error)}; ` +
          "run once with --init-only and more rights, or set conntrack.maxPerCore, conntrack.min and the timeouts to 0",
        { cause: error },
      );
    }
    logger.info("Left the connection table as it is", { reason: describeError(error) });
  }
}
