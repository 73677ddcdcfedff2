/** The configuration of the proxy that this node has now, and of the one that it is to have. */
import { describeError, UsageError } from "../../lib/base/errors.ts";
import { FileError } from "../../lib/base/files.ts";
import { type FeatureGates, resolveGates } from "../../lib/config/feature_gates.ts";
import { internalDefaults, type ProxyConfiguration } from "../../lib/config/internal.ts";
import { loadConfiguration } from "../../lib/config/load.ts";
import { applyPlatformDefaults } from "../../lib/config/platform_defaults.ts";
import { describeProblem } from "../../lib/config/problem.ts";
import { readSources } from "../../lib/config/sources.ts";
import type { Arguments } from "../command.ts";
import { configFlag } from "./flags.ts";

/** What `--config` gave, as `run` would read it. */
export type NodeConfiguration =
  | {
    readonly kind: "usable";
    /** Of the mode that the files name; empty where they name none. */
    readonly mode: string;
    /** With nftables mode in it. */
    readonly value: ProxyConfiguration;
    readonly gates: FeatureGates;
  }
  | { readonly kind: "unusable"; readonly because: string };

/** Defaults where no file is named. Throws a UsageError for one that cannot be read. */
export async function readConfiguration(args: Arguments): Promise<NodeConfiguration> {
  const paths = args.get(configFlag).filter((path) => path !== "");
  if (paths.length === 0) return usable(internalDefaults());
  try {
    const sources = await readSources(paths);
    const { loaded, problems } = loadConfiguration(sources, { strict: false, platform: "linux" });
    if (loaded) return usable(loaded.configuration);
    const errors = problems.filter(({ severity }) => severity === "error");
    return { kind: "unusable", because: errors.map(describeProblem).join("; ") };
  } catch (error) {
    if (!(error instanceof FileError)) return { kind: "unusable", because: describeError(error) };
    throw new UsageError(`Cannot check this node: ${describeError(error)}`, { cause: error });
  }
}

function usable(configuration: ProxyConfiguration): NodeConfiguration {
  const resolved = resolveGates(configuration.featureGates);
  if (resolved.kind === "refused") {
    return { kind: "unusable", because: "its feature gates cannot be used" };
  }
  const value = applyPlatformDefaults({ ...configuration, mode: "nftables" }, "nftables");
  return { kind: "usable", mode: configuration.mode, value, gates: resolved.gates };
}
