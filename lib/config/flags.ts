/**
 * The flags of `run`: all of upstream's, and this program's own. One table feeds parsing, help,
 * completion, the lines about deprecation, and the way from a command line to the configuration.
 */
import { joinHostPort, parseIp } from "../base/ip.ts";
import type { TypedFlag } from "../base/flags.ts";
import type { RunFlag } from "./flags_define.ts";
import {
  configFlag,
  healthzPortFlag,
  metricsPortFlag,
  programFlags,
  writeConfigToFlag,
} from "./flags_program.ts";
import { isGiven, type ScannedFlags, valueOf } from "../base/flag_scan.ts";
import { clientFlags, nodeFlags, serverFlags } from "./flags_table.ts";
import { loggingFlags } from "./flags_table_logging.ts";
import { conntrackFlags, iptablesFlags, ipvsFlags } from "./flags_table_modes.ts";
import { internalDefaults, type ProxyConfiguration } from "./internal.ts";

/** Every flag of `run`, sorted by name. */
export const runFlags: readonly RunFlag[] = [
  ...programFlags,
  ...nodeFlags,
  ...serverFlags,
  ...clientFlags,
  ...conntrackFlags,
  ...iptablesFlags,
  ...ipvsFlags,
  ...loggingFlags,
].sort((left, right) => left.name < right.name ? -1 : 1);

/** What the flags say without `--config`. Throws where a value cannot be used. */
export function configurationFromFlags(scanned: ScannedFlags): ProxyConfiguration {
  const configuration = applyEach(runFlags, scanned, internalDefaults());
  const withPeriod = configuration.mode === "ipvs" && configuration.minSyncPeriodMs === undefined
    // Upstream's flags give ipvs a period where its files give none.
    ? { ...configuration, minSyncPeriodMs: 1_000 }
    : configuration;
  return valueOf(writeConfigToFlag, scanned) === "" ? withPorts(withPeriod, scanned) : withPeriod;
}

/** What a loaded configuration becomes with the flags that hold beside `--config`. */
export function overlayFlags(
  configuration: ProxyConfiguration,
  scanned: ScannedFlags,
): ProxyConfiguration {
  return applyEach(
    runFlags.filter(({ scope }) => scope !== "configuration"),
    scanned,
    configuration,
  );
}

/** Flags on the command line for which a configuration file has a field, sorted by name. */
export function configurationFlagsGiven(scanned: ScannedFlags): readonly RunFlag[] {
  return runFlags.filter((flag) => flag.scope === "configuration" && isGiven(flag, scanned));
}

/** What a v1alpha2 file would have to say instead of those flags. */
export function equivalentFields(scanned: ScannedFlags): Readonly<Record<string, unknown>> {
  let fields: Record<string, unknown> = {};
  for (const flag of configurationFlagsGiven(scanned)) {
    const value = flag.inFile(scanned.given.get(flag.name) ?? []);
    if (flag.field !== undefined && value !== undefined) {
      fields = withValue(fields, flag.field.split("."), value);
    }
  }
  return fields;
}

/**
 * Every flag and its value as upstream's dump and /flagz show them, sorted by name: what is in
 * effect if the flags are the configuration, and what was given if files are.
 */
export function shownFlags(
  scanned: ScannedFlags,
  configuration: ProxyConfiguration,
): readonly (readonly [name: string, value: string])[] {
  const fromFiles = isGiven(configFlag, scanned);
  return runFlags.map((flag) => {
    const texts = scanned.given.get(flag.name) ?? [];
    return [flag.name, fromFiles ? flag.show(texts) : flag.showLive(configuration, texts)];
  });
}

/** The mode comes first: the periods ask for it. */
function applyEach(
  flags: readonly RunFlag[],
  scanned: ScannedFlags,
  configuration: ProxyConfiguration,
): ProxyConfiguration {
  const modeFirst = flags.toSorted((left, right) => rank(left) - rank(right));
  return modeFirst.reduce(
    (before, flag) => flag.apply(before, scanned.given.get(flag.name) ?? []),
    configuration,
  );
}

function rank(flag: RunFlag): number {
  return flag.field === "mode" ? 0 : 1;
}

function withPorts(
  configuration: ProxyConfiguration,
  scanned: ScannedFlags,
): ProxyConfiguration {
  const ported = (bound: string, port: TypedFlag<number>) =>
    withPort(bound, valueOf(port, scanned));
  return {
    ...configuration,
    healthzBindAddress: ported(configuration.healthzBindAddress, healthzPortFlag),
    metricsBindAddress: ported(configuration.metricsBindAddress, metricsPortFlag),
  };
}

/** Port 0 means no server; any other is used where the address has none. */
function withPort(bound: string, port: number): string {
  if (port === 0) return "";
  return parseIp(bound) === undefined ? bound : joinHostPort(bound, port);
}

function withValue(
  fields: Readonly<Record<string, unknown>>,
  [key, ...rest]: readonly string[],
  value: unknown,
): Record<string, unknown> {
  if (rest.length === 0) return { ...fields, [key]: value };
  const inner = fields[key];
  return { ...fields, [key]: withValue(isRecord(inner) ? inner : {}, rest, value) };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
