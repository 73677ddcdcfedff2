/** What is chosen for the user on Linux when nothing in the configuration does. */
import { modeConfigOf, type ModeName } from "../writers/registry.ts";
import type { ProxyConfiguration } from "./internal.ts";

/** Upstream's choices; the mode depends on where the Services come from, so the caller names it. */
export function applyPlatformDefaults(
  configuration: ProxyConfiguration,
  defaultMode: ModeName,
): ProxyConfiguration {
  const mode = configuration.mode === "" ? defaultMode : configuration.mode;
  const { nodePortAddresses } = configuration;
  return {
    ...configuration,
    mode,
    detectLocalMode: configuration.detectLocalMode === ""
      ? "ClusterCIDR"
      : configuration.detectLocalMode,
    nodePortAddresses: nodePortAddresses.length > 0
      ? nodePortAddresses
      : modeConfigOf(mode)?.nodePortAddresses ?? [],
  };
}
