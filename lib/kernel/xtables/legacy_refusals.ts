/** What `iptables-legacy-restore` says when it refuses, in the words of the changes. */
import type { IpFamily } from "../../base/ip_family.ts";
import type { CommandResult } from "../commands.ts";
import { XtablesError } from "./errors.ts";
import { jumpOf, type XtChange } from "./rules.ts";
import { changeOfLine } from "./text.ts";
import type { XtFailure, XtRefusal } from "./xtables.ts";

/** The tool could not get what it needs of the system: mostly iptables' lock. */
const EXIT_RESOURCE = 4;

/** The error for a restore that failed. */
export function refusedRestore(
  result: CommandResult,
  { changes, family }: { readonly changes: readonly XtChange[]; readonly family: IpFamily },
): XtablesError {
  const failures = [failureOf(result, { changes, family })];
  return new XtablesError({ family, changes, failures });
}

/**
 * `iptables-restore: line 7 failed` names a line, which at a COMMIT is that of no change: then the
 * kernel refused the whole table. `Error occurred at line: 7` has the reason two lines above.
 */
function failureOf(
  { exitCode, stderr }: CommandResult,
  restored: { readonly changes: readonly XtChange[]; readonly family: IpFamily },
): XtFailure {
  const message = reasonOf(stderr) || `exit code ${exitCode}`;
  const line = /line:? (\d+)/.exec(stderr)?.[1];
  const change = line === undefined ? -1 : changeOfLine(Number(line), restored);
  return {
    change,
    message,
    refusal: refusalOf({ exitCode, message, change: restored.changes[change] }),
  };
}

function refusalOf({ change, exitCode, message }: {
  readonly exitCode: number;
  readonly message: string;
  readonly change: XtChange | undefined;
}): XtRefusal {
  if (/xtables lock/.test(message)) return "locked";
  if (/Permission denied|you must be root|Operation not permitted/.test(message)) {
    return "not-permitted";
  }
  if (/Resource temporarily unavailable/.test(message)) return "stale";
  if (exitCode === EXIT_RESOURCE) return "locked";
  if (/Table does not exist/.test(message)) return "unsupported";
  const [, extension] = /Couldn't load (?:match|target) `([^']*)'/.exec(message) ?? [];
  if (extension !== undefined) {
    const isChain = change && "rule" in change && jumpOf(change.rule) === extension;
    return isChain ? "not-found" : "unsupported";
  }
  return "other";
}

/** The first line that says something, without the program's name; of the lock the one that names it. */
function reasonOf(stderr: string): string {
  const lines = stderr.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  const first = lines.find((line) => line.includes("xtables lock")) ??
    lines.find((line) => !line.startsWith("Warning")) ?? "";
  return first.replace(/^ip6?tables(-legacy)?-restore( v[\d.]+)?( \(legacy\))?: */, "");
}
