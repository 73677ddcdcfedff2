/** Rules that take more than one field, and rules that a gate or the platform decides. */
import { formatDuration } from "../base/duration.ts";
import { parseCidr } from "../base/ip.ts";
import { linuxModes, modeConfigOf } from "../writers/registry.ts";
import type { FeatureGates } from "./feature_gates.ts";
import type { LogFormatOptions, ProxyConfiguration } from "./internal.ts";

/** One broken rule, by the internal place of the value that broke it. */
export interface Finding {
  readonly severity: "error" | "warning";
  readonly place: string;
  /** The item of a list or the key of a mapping. */
  readonly index?: number | string;
  readonly value?: unknown;
  readonly rule: string;
  readonly hint?: string;
  /** Upstream's name of the field, where it is not that of the place. */
  readonly upstream?: string;
}

export interface CrossCheckContext {
  readonly gates: FeatureGates;
  readonly platform: "linux" | "any";
  readonly version: "v1alpha1" | "v1alpha2";
  /** The only release, besides none, whose hidden metrics can be shown. */
  readonly hiddenMetricsVersion: string;
}

/** All of them, in the order of the fields. */
export function crossChecks(
  configuration: ProxyConfiguration,
  context: CrossCheckContext,
): Finding[] {
  return [
    ...checkMode(configuration, context),
    ...checkHiddenMetrics(configuration, context),
    ...checkPeriods(configuration, context),
    ...checkDetectLocal(configuration),
    ...checkLogging(configuration, context.gates),
  ];
}

function checkMode({ mode }: ProxyConfiguration, context: CrossCheckContext): Finding[] {
  const place = "mode";
  const { gate, platform } = modeConfigOf(mode) ?? {};
  if (gate !== undefined && !context.gates.enabled(gate)) {
    const others = linuxModes.filter((other) => other !== mode).join(", ");
    const rule = `must be one of ${others} or blank while the gate ${gate} is off`;
    return [{ severity: "error", place, value: mode, rule }];
  }
  if (platform !== "windows") return [];
  if (context.platform === "any") {
    return [{ severity: "warning", place, rule: `${mode} runs on Windows only` }];
  }
  const rule = `must be one of ${linuxModes.join(", ")} or blank on Linux`;
  return [{ severity: "error", place, value: mode, rule }];
}

function checkHiddenMetrics(
  { showHiddenMetricsForVersion: value }: ProxyConfiguration,
  { hiddenMetricsVersion }: CrossCheckContext,
): Finding[] {
  if (value === "" || value === hiddenMetricsVersion) return [];
  const rule = `must be omitted or "${hiddenMetricsVersion}": ` +
    "only the previous minor version is allowed";
  return [{ severity: "error", place: "showHiddenMetricsForVersion", value, rule }];
}

function checkPeriods(
  { mode, syncPeriodMs, minSyncPeriodMs }: ProxyConfiguration,
  { version }: CrossCheckContext,
): Finding[] {
  // Upstream fills the unset value before it compares.
  const unset = version === "v1alpha1" && mode !== "ipvs" ? 1_000 : 0;
  const least = minSyncPeriodMs ?? unset;
  if (least <= syncPeriodMs) return [];
  const place = minSyncPeriodMs === undefined ? "syncPeriodMs" : "minSyncPeriodMs";
  const rule = minSyncPeriodMs === undefined
    ? `must be greater than or equal to minSyncPeriod, ${formatDuration(least)} by default`
    : `must be less than or equal to syncPeriod, ${formatDuration(syncPeriodMs)}`;
  const value = minSyncPeriodMs === undefined ? syncPeriodMs : minSyncPeriodMs;
  return [{ severity: "error", place, value, rule, upstream: "SyncPeriod" }];
}

function checkDetectLocal(configuration: ProxyConfiguration): Finding[] {
  const { detectLocal, detectLocalMode } = configuration;
  const notEmpty = (name: "bridgeInterface" | "interfaceNamePrefix"): Finding[] =>
    detectLocal[name] !== "" ? [] : [{
      severity: "error",
      place: `detectLocal.${name}`,
      rule: `must not be empty with detectLocalMode ${detectLocalMode}`,
    }];
  switch (detectLocalMode) {
    case "BridgeInterface":
      return notEmpty("bridgeInterface");
    case "InterfaceNamePrefix":
      return notEmpty("interfaceNamePrefix");
    case "ClusterCIDR":
    case "":
      return checkClusterCidrs(detectLocal.clusterCIDRs);
    default:
      return [];
  }
}

function checkClusterCidrs(cidrs: readonly string[]): Finding[] {
  const place = "detectLocal.clusterCIDRs";
  const pair = "must be either a single CIDR or a pair of CIDRs of different families";
  if (cidrs.length > 2) return [{ severity: "error", place, value: cidrs, rule: pair }];
  const parsed = cidrs.map((cidr) => parseCidr(cidr));
  const invalid = parsed.flatMap((cidr, index): Finding[] =>
    cidr ? [] : [{
      severity: "error",
      place,
      index,
      value: cidrs[index],
      rule: "must be a valid CIDR such as 10.128.0.0/14",
    }]
  );
  if (invalid.length > 0) return invalid;
  const [first, second] = parsed;
  if (!first || !second || first.family !== second.family) return [];
  return [{ severity: "error", place, value: cidrs, rule: pair }];
}

function checkLogging({ logging }: ProxyConfiguration, gates: FeatureGates): Finding[] {
  const findings: Finding[] = [];
  if (logging.format === "json" && !gates.enabled("LoggingBetaOptions")) {
    const rule = "must not be json while the gate LoggingBetaOptions is off";
    findings.push({ severity: "error", place: "logging.format", rule });
  }
  if (logging.format !== "text" && logging.vmodule.length > 0) {
    const rule = "must be empty: only the format text supports it";
    findings.push({ severity: "error", place: "logging.vmodule", rule });
  }
  if (gates.enabled("LoggingAlphaOptions")) return findings;
  return [
    ...findings,
    ...checkFormatOptions("json", logging.options.json),
    ...checkFormatOptions("text", logging.options.text),
  ];
}

function checkFormatOptions(format: string, options: LogFormatOptions): Finding[] {
  const rule = "must not be set while the gate LoggingAlphaOptions is off";
  const findings: Finding[] = [];
  if (options.splitStream) {
    findings.push({ severity: "error", place: `logging.options.${format}.splitStream`, rule });
  }
  if (options.infoBufferSize !== "0") {
    findings.push({ severity: "error", place: `logging.options.${format}.infoBufferSize`, rule });
  }
  return findings;
}
