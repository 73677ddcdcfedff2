/** `cleanup --mode M`: removes what a proxy mode left on this node, and nothing else. */
import { type Clock, systemClock } from "../lib/base/clock.ts";
import { describeError, UsageError } from "../lib/base/errors.ts";
import { FileError } from "../lib/base/files.ts";
import { boolean, duration, oneOf, repeatedPath } from "../lib/base/flag_values.ts";
import { defineFlag } from "../lib/base/flags.ts";
import { ConfigError, describeProblem } from "../lib/config/problem.ts";
import { internalDefaults, type ProxyConfiguration } from "../lib/config/internal.ts";
import { loadConfiguration } from "../lib/config/load.ts";
import { readSources } from "../lib/config/sources.ts";
import { type AskPage, askPage } from "../lib/health/ask_page.ts";
import { type Kernel, LinuxKernel } from "../lib/kernel/kernel.ts";
import { recordFolder } from "../lib/record/record_file.ts";
import { leftoversByMode } from "../lib/writers/registry.ts";
import { isDone } from "./cleanup/clean_up.ts";
import { doorsWith } from "./cleanup/doors.ts";
import { findLiveProxy, type LiveProxy } from "./cleanup/live_proxy.ts";
import { refusalJson } from "./cleanup/report.ts";
import { requireNetAdmin } from "./cleanup/rights.ts";
import { NodeRecord } from "./cleanup/node_record.ts";
import { cleanUpAndTell } from "./cleanup/tell.ts";
import type { Command, CommandContext } from "./command.ts";
import { outputFlag, verbosityFlag } from "./global_flags.ts";
import { parseListenAddress } from "./run/servers.ts";

/** What the command works on. */
export interface CleanupMachine {
  readonly ask: AskPage;
  /** Closed by the command. */
  openKernel(context: CommandContext): Kernel & AsyncDisposable;
  /** Where the record of this node's proxy is; there is none where it is absent. */
  readonly recordFolder?: string;
  /** The system's when absent. */
  readonly clock?: Clock;
}

const refused = 2;

/** Every mode that may have left something. */
const modes = [...leftoversByMode.keys()];
const all = "all";

const modeFlag = defineFlag({
  name: "mode",
  type: oneOf("mode", [...modes, all]),
  summary: `whose leftovers: ${modes.join(", ")}; or ${all}`,
  fallback: "",
});

const dryRunFlag = defineFlag({
  name: "dry-run",
  type: boolean,
  summary: "print what would be removed, and change nothing",
  fallback: false,
});

const forceFlag = defineFlag({
  name: "force",
  type: boolean,
  summary: "remove the rules of a proxy that runs on this node too",
  fallback: false,
});

const drainFlag = defineFlag({
  name: "drain",
  type: boolean,
  summary: "let connections of ipvs mode end first, while another mode serves",
  fallback: false,
});

const drainTimeoutFlag = defineFlag({
  name: "drain-timeout",
  type: duration,
  summary: "how long --drain waits",
  fallback: 60 * 60_000,
});

const cutFlag = defineFlag({
  name: "cut-at-deadline",
  type: boolean,
  summary: "cut what --drain still waits for when its time is over, instead of leaving it",
  fallback: false,
});

const configFlag = defineFlag({
  name: "config",
  type: repeatedPath,
  summary: "the configuration of this node's proxy: where it serves its pages, what it excludes",
  fallback: [],
});

/** The command for this machine. */
export const cleanupCommand: Command = createCleanupCommand({
  ask: askPage,
  recordFolder,
  openKernel: ({ env }) => {
    const searchPath = env("PATH");
    return new LinuxKernel(searchPath ? { searchPath } : {});
  },
});

/** The command over whatever machine. For tests: they bring one in memory. */
export function createCleanupCommand(machine: CleanupMachine): Command {
  return {
    description:
      "Reads first, prints what it removes, removes it and reads again. A mode whose proxy " +
      "runs on this node is refused. What other programs made is never touched. Needs no apiserver.",
    operands: [],
    flags: [
      configFlag,
      cutFlag,
      drainFlag,
      drainTimeoutFlag,
      dryRunFlag,
      forceFlag,
      modeFlag,
      outputFlag,
    ],
    examples: [
      { what: "See what nftables mode left", command: "cleanup --mode nftables --dry-run" },
      { what: "Remove it", command: "cleanup --mode nftables" },
      { what: "Each chain by name", command: "cleanup --mode iptables --dry-run -v 1" },
      {
        what: "Once nftables mode serves, let the connections of ipvs mode end and remove it",
        command: "cleanup --mode ipvs --drain --drain-timeout 30m",
      },
      { what: "Of all modes, told to programs", command: "cleanup --mode all -o json" },
    ],
    run: (context) => run(machine, context),
  };
}

/** Exit code 0: all done, or nothing to do; 1: something remains; 2: refused, or not possible at all. */
async function run(machine: CleanupMachine, context: CommandContext): Promise<number> {
  // Taken before anything else: from here on a signal ends the program in order.
  const { arguments: args, signal, stderr, stdout } = context;
  const mode = args.get(modeFlag);
  if (mode === "") {
    throw new UsageError(`Missing --mode; give --mode ${[...modes, all].join(", --mode ")}`);
  }
  const dryRun = args.get(dryRunFlag);
  await requireDrainable(mode, args);
  await using kernel = machine.openKernel(context);
  requireNetAdmin(kernel);
  kernel.self.keepLittleFreeMemory();
  const warn = (sentence: string) => stderr.write(`Warning: ${sentence}\n`);
  const record = await NodeRecord.read({ folder: machine.recordFolder, kernel, warn });
  const chosen = mode === all ? modes : [mode];
  const drains = args.get(drainFlag);
  const configuration = await configurationOf(args.get(configFlag));
  if (!dryRun && (drains || !args.get(forceFlag))) {
    const { ask } = machine;
    const live = await findLiveProxy(addressesOf(configuration), { ask, record, signal });
    const refusal = drains ? drainRefusalOf(mode, live) : refusalOf(mode, live);
    if (refusal !== undefined) {
      stderr.write(`Error: ${refusal}\n`);
      if (args.get(outputFlag) === "json") stdout.write(refusalJson(refusal, dryRun));
      return refused;
    }
  }
  const outcomes = await cleanUpAndTell(chosen, {
    doors: await record.doorsWithSettings(doorsWith(leftoversByMode, {
      excluded: configuration.ipvs.excludeCIDRs,
      ...(drains && {
        drain: {
          clock: machine.clock ?? systemClock,
          timeoutMs: args.get(drainTimeoutFlag),
          cuts: args.get(cutFlag),
          stderr,
        },
      }),
    })),
    kernel,
    dryRun,
    format: args.get(outputFlag) === "json" ? "json" : "text",
    each: args.get(verbosityFlag) > 0,
    stdout,
    stderr,
    signal,
  });
  if (!dryRun) await record.tidy(warn);
  return isDone(outcomes) ? 0 : 1;
}

/** Only a mode whose connections need it can be drained. */
async function requireDrainable(
  mode: string,
  args: CommandContext["arguments"],
): Promise<void> {
  if (!args.get(drainFlag)) {
    const given = [cutFlag, drainTimeoutFlag].find((flag) => args.has(flag));
    if (given) throw new UsageError(`Cannot use --${given.name} without --drain; give --drain too`);
    return;
  }
  if ((await leftoversByMode.get(mode)?.())?.drain) return;
  throw new UsageError(
    `Cannot drain with --mode ${mode}: connections need only what ipvs mode left; give --mode ipvs, or leave out --drain`,
  );
}

/** Connections of the mode live on only while another one takes the new ones. */
function drainRefusalOf(mode: string, live: LiveProxy | undefined): string | undefined {
  if (live?.mode !== undefined && live.mode !== mode) return undefined;
  const reason = !live
    ? "no proxy serves in another mode on this node"
    : live.mode === undefined
    ? `a proxy ${live.sign} and does not tell its mode`
    : `a proxy in ${live.mode} mode runs here and ${live.sign}`;
  return `Cannot drain ${mode} mode: ${reason}; start one in nftables mode first, or leave out --drain`;
}

/** Why the proxy that runs here is in the way; undefined where it is not. */
function refusalOf(mode: string, live: LiveProxy | undefined): string | undefined {
  if (!live) return undefined;
  const way = "stop it first, or give --force";
  const subject = mode === all ? "after all modes" : `after ${mode} mode`;
  if (live.mode === undefined) {
    return `Cannot clean up ${subject}: a proxy ${live.sign} and does not tell its mode; ${way}`;
  }
  if (mode !== all && mode !== live.mode) return undefined;
  return `Cannot clean up ${subject}: a proxy in ${live.mode} mode runs here and ${live.sign}; ${way}`;
}

function addressesOf({ healthzBindAddress, metricsBindAddress }: ProxyConfiguration) {
  return {
    healthz: parseListenAddress(healthzBindAddress),
    metrics: parseListenAddress(metricsBindAddress),
  };
}

/** As `run` reads it. What cannot be read or understood tells no addresses: nothing is begun then. */
async function configurationOf(paths: readonly string[]): Promise<ProxyConfiguration> {
  const given = paths.filter((path) => path !== "");
  if (given.length === 0) return internalDefaults();
  try {
    const sources = await readSources(given);
    const { loaded, problems } = loadConfiguration(sources, { strict: false, platform: "linux" });
    if (loaded) return loaded.configuration;
    const errors = problems.filter(({ severity }) => severity === "error");
    throw new ConfigError(errors.map(describeProblem).join("; "), problems);
  } catch (error) {
    if (!(error instanceof FileError || error instanceof ConfigError)) throw error;
    throw new UsageError(`Cannot clean up: ${describeError(error)}`, { cause: error });
  }
}
