/**
 * A proxy's life: it is put together, run in one of three ways, and ended in order. Whatever throws
 * ends all the rest, and is thrown once everything has ended.
 */
import { Lifetime } from "../../lib/node/lifetime.ts";
import { loadRuntime, runnableModes } from "../../lib/writers/registry.ts";
import type { ModeRuntime } from "../../lib/writers/writer.ts";
import type { RunContext } from "../run_command.ts";
import type { RunOptions } from "../run_options.ts";
import { assemble } from "./assemble.ts";
import { cleanUpAll } from "./clean_up_all.ts";
import type { Machine } from "./machine.ts";
import { renderOnce } from "./render_once.ts";
import { runForGood } from "./run_for_good.ts";
import { syncOnce } from "./sync_once.ts";

/** Cleans up where that was asked for; else runs until the context's signal or a failure. Resolves to the exit code. */
export async function runProxy(
  options: RunOptions,
  context: RunContext,
  machine: Machine,
): Promise<number> {
  if (options.cleanup) {
    await cleanUpAll(options, context, machine);
    return 0;
  }
  const startMs = machine.clock.now();
  const runtime = await runtimeOf(options);
  machine.kernel.self.keepLittleFreeMemory();
  const lifetime = new Lifetime(context.signal);
  try {
    const proxy = await assemble(options, context, { machine, runtime, lifetime, startMs });
    if (proxy && !options.initOnly) {
      await (options.dryRun ? renderOnce : options.once ? syncOnce : runForGood)(proxy);
    }
  } catch (error) {
    lifetime.fail(error);
  }
  lifetime.end();
  await lifetime.finished();
  return 0;
}

async function runtimeOf({ configuration }: RunOptions): Promise<ModeRuntime> {
  const { mode } = configuration;
  const runtime = mode === "" ? undefined : await loadRuntime(mode, configuration);
  if (runtime) return runtime;
  throw new Error(
    `Cannot run in ${mode} mode: this version of the program only has ${
      runnableModes.join(", ")
    }; ` +
      'set "mode: nftables" in the configuration or give --proxy-mode=nftables',
  );
}
