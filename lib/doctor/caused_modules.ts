/**
 * Modules that the kernel loaded because it was asked something. They are unloaded again where nobody
 * uses them: a node is left as it was found.
 */
import type { Clock } from "../base/clock.ts";
import type { LoadedModules } from "../kernel/loaded_modules.ts";

/** What became of them, each by its name, the one that was loaded last first. */
export interface CausedModules {
  readonly unloaded: readonly string[];
  readonly kept: readonly string[];
}

/** What a node is put back with. */
export interface UnloadOptions {
  readonly modules: LoadedModules;
  readonly clock: Clock;
  /** How long rules of a namespace that is gone may hold them. */
  readonly patienceMs: number;
}

const pauseMs = 50;

/** `before` are the names that were loaded then. Modules that others began to use meanwhile stay. */
export async function unloadCaused(
  before: ReadonlySet<string>,
  { clock, modules, patienceMs }: UnloadOptions,
): Promise<CausedModules> {
  const caused = () => modules.loaded().map(({ name }) => name).filter((name) => !before.has(name));
  const all = caused();
  const until = clock.monotonic() + patienceMs;
  for (let left = all; left.length > 0; left = caused()) {
    // Each that goes may free another one.
    const gone = left.filter((name) => modules.unload(name));
    if (gone.length > 0) continue;
    if (clock.monotonic() >= until) break;
    await clock.sleep(pauseMs);
  }
  const kept = caused().filter((name) => all.includes(name));
  return { unloaded: all.filter((name) => !kept.includes(name)), kept };
}
