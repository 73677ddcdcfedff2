/**
 * From the command line of `run` to everything the proxy starts with. What upstream takes from flags
 * and what from files, and in which order, is decided here and nowhere else.
 */
import type { ReadFile } from "../lib/base/files_watch.ts";
import { kubernetesVersion } from "../lib/base/version.ts";
import type { ConfigVersion, Source } from "../lib/config/documents.ts";
import { type FeatureGates, resolveGates } from "../lib/config/feature_gates.ts";
import * as flags from "../lib/config/flags.ts";
import * as program from "../lib/config/flags_program.ts";
import type { ProxyConfiguration } from "../lib/config/internal.ts";
import { loadConfiguration } from "../lib/config/load.ts";
import { applyPlatformDefaults } from "../lib/config/platform_defaults.ts";
import { ConfigError, describeProblem, lenientKinds, type Problem } from "../lib/config/problem.ts";
import { readSources } from "../lib/config/sources.ts";
import { validateConfiguration } from "../lib/config/validate.ts";
import type { Arguments } from "./command.ts";

/** What `run` was asked to do. */
export interface RunOptions {
  /** Complete and valid; the platform's defaults are in it. */
  readonly configuration: ProxyConfiguration;
  readonly gates: FeatureGates;
  /** Whether nobody chose the mode; it is the default then. */
  readonly modeIsDefault: boolean;
  /** The files that the configuration was read from, to be watched. Empty: it came from flags. */
  readonly configFiles: readonly ReadFile[];
  /** The apiserver's address, whatever the kubeconfig says; empty where nothing was said. */
  readonly master: string;
  /** Where objects come from instead of an apiserver; empty for an apiserver. */
  readonly manifests: readonly string[];
  readonly once: boolean;
  readonly dryRun: boolean;
  readonly initOnly: boolean;
  readonly cleanup: boolean;
  readonly namespaceOptOut: boolean;
  readonly namespaceOptOutDelayMs: number;
  /** The version that logs, metrics and the User-Agent tell. */
  readonly reportedVersion: string;
  /** A file to write the configuration to instead of running; undefined for none. */
  readonly writeConfig: ConfigTarget | undefined;
  /** Every flag and its value for the dump and /flagz, sorted by name. */
  readonly flags: readonly (readonly [name: string, value: string])[];
  /** What is to be said once the log is set up. */
  readonly notes: readonly Note[];
}

/** Where a configuration is to be written, and as which version. */
export interface ConfigTarget {
  readonly path: string;
  readonly version: ConfigVersion;
}

/** A line for the log that is written before there is a log. */
export interface Note {
  readonly message: string;
  readonly values: Readonly<Record<string, unknown>>;
}

/**
 * Reads the files that `--config` names, or takes the flags as the configuration. Throws a FileError
 * for what cannot be read, and a ConfigError that holds every problem of the configuration.
 */
export async function readRunOptions(args: Arguments): Promise<RunOptions> {
  const paths = args.get(program.configFlag).filter((path) => path !== "");
  const sources = await readSources(paths);
  const chosen = paths.length > 0 ? fromFiles(sources, args) : fromFlags(args);
  const manifests = args.get(program.manifestsFlag).filter((path) => path !== "");
  const defaultMode = manifests.length === 0 ? "iptables" : "nftables";
  const configuration = applyPlatformDefaults(chosen.configuration, defaultMode);
  const checked = validate(configuration, chosen.version, args);
  const path = args.get(program.writeConfigToFlag);
  const version = args.get(program.versionFlag);
  return {
    configuration,
    gates: checked.gates,
    modeIsDefault: chosen.configuration.mode === "",
    configFiles: sources.filter(({ name }) => name !== "<stdin>")
      .map(({ name, bytes }) => ({ path: name, bytes })),
    master: args.get(program.masterFlag),
    manifests,
    once: args.get(program.onceFlag),
    dryRun: args.get(program.dryRunFlag),
    initOnly: args.get(program.initOnlyFlag),
    cleanup: args.get(program.cleanupFlag),
    namespaceOptOut: args.get(program.namespaceOptOutFlag),
    namespaceOptOutDelayMs: args.get(program.namespaceOptOutDelayFlag),
    reportedVersion: version.startsWith("v") ? version : kubernetesVersion,
    writeConfig: path === ""
      ? undefined
      : { path, version: args.get(program.writeConfigVersionFlag) },
    flags: flags.shownFlags(args, configuration),
    notes: [...chosen.notes, ...gateNotes(configuration), ...flagNotes(args)],
  };
}

interface Chosen {
  readonly configuration: ProxyConfiguration;
  /** Whose rules hold: flags follow those of v1alpha1. */
  readonly version: ConfigVersion;
  readonly notes: readonly Note[];
}

function fromFiles(sources: readonly Source[], args: Arguments): Chosen {
  const { loaded, problems } = loadConfiguration(sources, { strict: false, platform: "linux" });
  if (!loaded) throw configError(problems);
  const configuration = flags.overlayFlags(loaded.configuration, args);
  return { configuration, version: loaded.version, notes: problems.map(fileNote) };
}

function fromFlags(args: Arguments): Chosen {
  return { configuration: flags.configurationFromFlags(args), version: "v1alpha1", notes: [] };
}

/** Values of flags are checked here; those of files were, and have no flag to blame. */
function validate(
  configuration: ProxyConfiguration,
  version: ConfigVersion,
  args: Arguments,
): { readonly gates: FeatureGates } {
  const place = { source: "command line", line: 0, column: 0 };
  const given = flags.runFlags.filter((flag) => args.has(flag));
  const { problems, gates } = validateConfiguration(configuration, {
    version,
    platform: "linux",
    originOf: (internal) => {
      const flag = given.find(({ field }) =>
        field === internal.replace(/(Ms|\.milliseconds)$/, "")
      );
      return flag && { place, path: `--${flag.name}` };
    },
    fallback: place,
  });
  const errors = problems.filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw configError(errors);
  return { gates };
}

function configError(problems: readonly Problem[]): ConfigError {
  const errors = problems.filter(({ severity }) => severity === "error").map(describeProblem);
  return new ConfigError(errors.length === 1 ? errors[0] : `[${errors.join(", ")}]`, problems);
}

/** Upstream's words for a file that only a lenient reader understands. */
function fileNote(problem: Problem): Note {
  const message = lenientKinds.has(problem.kind)
    ? "Using lenient decoding as strict decoding failed"
    : "The configuration is accepted, with a warning";
  return { message, values: { problem: describeProblem(problem) } };
}

function gateNotes({ featureGates }: ProxyConfiguration): Note[] {
  const resolution = resolveGates(featureGates);
  if (resolution.kind === "refused") return [];
  // Upstream's words.
  return resolution.warnings.map(({ gate, value, stage }) => ({
    message: `Warning: setting ${stage} feature gate. It will be removed in a future release.`,
    values: { featureGate: gate, value },
  }));
}

/** Flags that a file replaces: what to write into it, or that the file already rules them out. */
function flagNotes(args: Arguments): Note[] {
  const given = flags.configurationFlagsGiven(args).filter(({ deprecated }) => !deprecated);
  if (given.length === 0) return [];
  const names = given.map(({ name }) => `--${name}`).join(" ");
  if (args.has(program.configFlag)) {
    return [{ message: "Flags have no effect beside --config", values: { flags: names } }];
  }
  const config = JSON.stringify(flags.equivalentFields(args));
  const message = "Flags are deprecated where a configuration file has a field for them";
  return [{ message, values: { flags: names, config } }];
}
