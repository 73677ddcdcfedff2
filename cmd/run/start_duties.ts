/** What a proxy sets on its node before it programs anything. */
import { describeError } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/log.ts";
import { applyConntrackSettings } from "../../lib/kernel/conntrack/settings.ts";
import type { Kernel } from "../../lib/kernel/kernel.ts";
import type { Lifetime } from "../../lib/node/lifetime.ts";
import { programVersion } from "../../lib/base/version.ts";
import { keepRecord } from "../../lib/record/record_keeper.ts";
import type { ModeRuntime } from "../../lib/writers/writer.ts";
import type { RunContext } from "../run_command.ts";
import type { RunOptions } from "../run_options.ts";
import type { Machine } from "./machine.ts";

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

/** Whose record is kept, and of which node. */
export interface RecordDuty {
  readonly options: RunOptions;
  readonly context: RunContext;
  readonly machine: Machine;
  readonly runtime: ModeRuntime;
  readonly lifetime: Lifetime;
  readonly startMs: number;
}

/**
 * Writes down which proxy runs here, for `cleanup` and for whoever looks later. Settings are to be
 * changed through the kernel that it gives back.
 */
export async function recordProxy(
  { context, lifetime, machine, options, runtime, startMs }: RecordDuty,
): Promise<Kernel> {
  const { kernel, recordFolder } = machine;
  if (recordFolder === undefined) return kernel;
  const { mode } = options.configuration;
  const record = await keepRecord({
    folder: recordFolder,
    kernel,
    identity: {
      mode,
      backend: await runtime.backend?.(kernel) ?? mode,
      version: programVersion,
      process: { pid: context.pid, startedAt: new Date(startMs).toISOString() },
    },
    logger: context.logger,
  });
  lifetime.own(record);
  return record.kernel;
}
