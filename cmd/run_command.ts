/** `run`, and the program without a command: reads its command line, sets up the log, and starts. */
import { describeError } from "../lib/base/errors.ts";
import { FileError, writeFileAtomically } from "../lib/base/files.ts";
import { Klog } from "../lib/base/klog.ts";
import { flagGroups } from "../lib/config/flags_define.ts";
import { runFlags } from "../lib/config/flags.ts";
import type { Logging, ProxyConfiguration } from "../lib/config/internal.ts";
import { writeConfiguration } from "../lib/config/write.ts";
import type { Command, CommandContext, Output, Surroundings } from "./command.ts";
import { type ConfigTarget, readRunOptions, type RunOptions } from "./run_options.ts";

/** What a running proxy is given besides its options. */
export interface RunContext extends Surroundings {
  readonly logger: Klog;
}

/** Runs the proxy until the signal or a failure ends it, and resolves to the exit code. */
export type StartProxy = (options: RunOptions, context: RunContext) => Promise<number>;

const failed = 1;

/** The command around a proxy. */
export function runCommand(startProxy: StartProxy): Command {
  return {
    description:
      "Upstream's flags are accepted as upstream accepts them. With --config the files " +
      "are the configuration, and flags that have a field in it are ignored.",
    operands: [],
    flags: runFlags.toSorted((left, right) =>
      flagGroups.findIndex((group) => group === left.heading) -
      flagGroups.findIndex((group) => group === right.heading)
    ),
    examples: [
      {
        what: "With a configuration file, and what belongs to this node alone",
        command: "run --config shared.yaml --config node.yaml",
      },
      {
        what: "As a DaemonSet does",
        command: "--config=/var/lib/kube-proxy/config.conf --hostname-override=$(NODE_NAME)",
      },
      {
        what: "Without a cluster: print the rules for Services in files",
        command: "run --manifests examples/shop --dry-run --once",
      },
      {
        what: "Turn flags or an old file into a file of the latest version",
        command: "run --config old.yaml --write-config-to new.yaml",
      },
    ],
    usageExitCode: failed,
    run: (context) => runWith(startProxy, context),
  };
}

async function runWith(startProxy: StartProxy, context: CommandContext): Promise<number> {
  // Taken before anything else: from here on a signal ends the program in order.
  const { stdin, stdout, stderr, pid, env, signal } = context;
  for (const line of context.arguments.deprecations) stderr.write(`${line}\n`);
  let logger = context.logger;
  try {
    const options = await optionsOf(context);
    const klog = loggerFor(options.configuration.logging, context);
    logger = klog;
    for (const { message, values } of options.notes) klog.info(message, values);
    for (const [name, value] of options.flags) {
      klog.verboseText(1, `FLAG: --${name}=${JSON.stringify(value)}`);
    }
    if (options.writeConfig) {
      return await writeConfig(options.configuration, options.writeConfig, { klog, stdout });
    }
    return await startProxy(options, {
      stdin,
      stdout,
      stderr,
      pid,
      env,
      signal,
      logger: klog,
    });
  } catch (error) {
    logger.error("command failed", error);
    return failed;
  }
}

/** Upstream's words for which step of the start failed. */
async function optionsOf(context: CommandContext): Promise<RunOptions> {
  try {
    return await readRunOptions(context.arguments);
  } catch (cause) {
    const step = cause instanceof FileError ? "failed complete" : "failed validate";
    throw new Error(`${step}: ${describeError(cause)}`, { cause });
  }
}

function loggerFor(logging: Logging, { stdout, stderr, pid }: CommandContext): Klog {
  const format = logging.format === "json" ? "json" : "text";
  const split = logging.options[format].splitStream;
  return new Klog({
    format,
    verbosity: logging.verbosity,
    vmodule: logging.vmodule,
    pid,
    write: (line) => stderr.write(line),
    ...(split ? { writeInfo: (line: string) => stdout.write(line) } : {}),
  });
}

/** The file is replaced as a whole or not at all; `-` is standard output. */
async function writeConfig(
  configuration: ProxyConfiguration,
  { path, version }: ConfigTarget,
  { klog, stdout }: { readonly klog: Klog; readonly stdout: Output },
): Promise<number> {
  const text = writeConfiguration(configuration, version);
  if (path === "-" || path === "/dev/stdout") stdout.write(text);
  else await writeFileAtomically(path, text);
  klog.info("Wrote configuration", { file: path, version });
  return 0;
}
