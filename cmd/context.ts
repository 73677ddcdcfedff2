/** What a command is given, from a command line that was read and the process around it. */
import type { ScannedFlags } from "../lib/base/flag_scan.ts";
import type { Flag } from "../lib/base/flags.ts";
import { Klog } from "../lib/base/klog.ts";
import type { CommandContext, Surroundings } from "./command.ts";
import { loggingFormatFlag, verbosityFlag } from "./global_flags.ts";

/** Getters, because asking for the signal changes what Ctrl-C does. */
export function contextOf(scanned: ScannedFlags, surroundings: Surroundings): CommandContext {
  const { stdin, stdout, stderr, pid, env } = surroundings;
  return {
    stdin,
    stdout,
    stderr,
    pid,
    env,
    get signal() {
      return surroundings.signal;
    },
    arguments: {
      get: (flag) => flag.value(scanned.given.get(flag.name) ?? []),
      has: (flag) => scanned.given.has(flag.name),
      ...scanned,
    },
    logger: new Klog({
      format: lastText(scanned, loggingFormatFlag) === "json" ? "json" : "text",
      verbosity: verbosityOf(scanned),
      pid,
      write: (line) => stderr.write(line),
    }),
  };
}

/** The text of a flag's last use. */
export function lastText(scanned: ScannedFlags, flag: Flag): string | undefined {
  return scanned.given.get(flag.name)?.at(-1);
}

/** What `-v` asks for. */
export function verbosityOf(scanned: ScannedFlags): number {
  return Number(lastText(scanned, verbosityFlag) ?? 0);
}
