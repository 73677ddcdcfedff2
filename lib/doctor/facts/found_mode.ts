/** Which mode serves this node, or did: its proxy says so, or what it left. */
import { describeError } from "../../base/errors.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { ModeLeftovers } from "../../writers/leftovers.ts";
import type { FactReader } from "../fact.ts";
import { type FromMode, fromModes } from "../modes.ts";
import type { FoundMode } from "./fact_values.ts";

/** What is asked, in this order. */
export interface FoundModeOptions {
  /** The proxy that runs here: its mode, and what gave it away. */
  readonly runningMode: (signal: AbortSignal) => Promise<
    { readonly mode: string | undefined; readonly sign: string } | undefined
  >;
  /** The mode of the configuration that `--config` names; empty where none is named, or it names none. */
  readonly configured: { readonly mode: string; readonly path: string };
  readonly leftovers: ReadonlyMap<string, () => Promise<ModeLeftovers>>;
  readonly kernel: Kernel;
}

/** Reads it; absent where nothing tells. */
export function foundModeReader(options: FoundModeOptions): FactReader<FoundMode> {
  return {
    read: async ({ signal }) => {
      const running = await options.runningMode(signal);
      const told = found(running?.mode, { where: running?.sign ?? "", isRunning: true }) ??
        found(options.configured.mode, { where: options.configured.path });
      if (told) return { kind: "value", value: told };
      const { left, failures } = await leftMode(options, signal);
      if (left) return { kind: "value", value: left };
      return failures.length > 0
        ? { kind: "unknown", because: failures.join("; ") }
        : { kind: "absent", because: "no proxy answers, no --config, and no rules were left" };
    },
  };
}

/** The first mode of the list that left something. A mode that cannot be asked keeps no other from it. */
async function leftMode(
  { kernel, leftovers }: FoundModeOptions,
  signal: AbortSignal,
): Promise<{ readonly left: FoundMode | undefined; readonly failures: readonly string[] }> {
  const failures: string[] = [];
  for (const mode of fromModes) {
    try {
      const objects = await (await leftovers.get(mode)?.())?.find(kernel, signal) ?? [];
      const left = found(mode, { where: objects.flatMap((each) => each.objects)[0] ?? "" });
      if (left && objects.length > 0) return { left, failures };
    } catch (error) {
      failures.push(describeError(error));
    }
  }
  return { left: undefined, failures };
}

function found(
  text: string | undefined,
  { isRunning = false, where }: { readonly where: string; readonly isRunning?: boolean },
): FoundMode | undefined {
  const mode = fromModes.find((each): each is FromMode => each === text);
  return mode && { mode, isRunning, where };
}
