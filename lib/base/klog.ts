/**
 * The logger of the real program, in the two formats of Kubernetes components: klog's text lines and
 * JSON records with upstream's keys. What reads logs of kube-proxy today must keep reading them.
 *
 *   I1118 12:42:32.040821   29481 syncer.ts:77] "Synced rules" family="IPv4" changes=3
 *   {"ts":1795005875040.1,"caller":"sync/syncer.ts:77","msg":"Synced rules","v":0,"family":"IPv4"}
 */
import { describeError, describeStack } from "./errors.ts";
import type { Logger, LogValues } from "./log.ts";

/** Raises the verbosity of the files whose name matches; `*` and `?` are wildcards. */
export interface VerbosityRule {
  readonly filePattern: string;
  readonly verbosity: number;
}

export interface KlogOptions {
  readonly format: "text" | "json";
  readonly verbosity: number;
  /** Heeded by the text format only, as upstream. */
  readonly vmodule?: readonly VerbosityRule[];
  readonly pid: number;
  /** Takes one record with its line break, at once and without throwing. */
  readonly write: (line: string) => void;
  /** Where informational records go if not to `write`. */
  readonly writeInfo?: (line: string) => void;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

interface Entry {
  /** The message as it is, without quotation marks in the text format. */
  readonly plain?: boolean;
  readonly severity: "I" | "W" | "E";
  readonly level: number;
  readonly message: string;
  readonly values: LogValues;
  readonly caller: string;
}

/** From this verbosity on, errors come with their stacks. */
const stackVerbosity = 6;

/** Writes every record at once; nothing is buffered, so nothing is lost when the process dies. */
export class Klog implements Logger {
  readonly #options: KlogOptions;
  readonly #rules: readonly { readonly name: RegExp; readonly verbosity: number }[];
  #verbosity: number;

  constructor(options: KlogOptions) {
    this.#options = options;
    this.#verbosity = options.verbosity;
    this.#rules = options.format === "text"
      ? (options.vmodule ?? []).map(({ filePattern, verbosity }) => ({
        name: globPattern(filePattern),
        verbosity,
      }))
      : [];
  }

  /** The level below which verbose records are said. */
  get verbosity(): number {
    return this.#verbosity;
  }

  /** Takes effect with the next record; the rules for single files stay. */
  setVerbosity(level: number): void {
    this.#verbosity = level;
  }

  info(message: string, values: LogValues = {}): void {
    this.#write({ severity: "I", level: 0, message, values, caller: callerOf(this.info) });
  }

  verbose(level: number, message: string, values: LogValues = {}): void {
    if (level > this.#verbosity && this.#rules.length === 0) return;
    const caller = callerOf(this.verbose);
    if (level > this.#verbosityOf(caller)) return;
    this.#write({ severity: "I", level, message, values, caller });
  }

  /** A verbose record that is text and nothing else, for lines that others search for. */
  verboseText(level: number, message: string): void {
    if (level > this.#verbosity) return;
    const caller = callerOf(this.verboseText);
    this.#write({ severity: "I", level, message, values: {}, caller, plain: true });
  }

  warning(message: string, values: LogValues = {}): void {
    this.#write({ severity: "W", level: 0, message, values, caller: callerOf(this.warning) });
  }

  error(message: string, error?: unknown, values: LogValues = {}): void {
    const caller = callerOf(this.error);
    const cause = error === undefined ? {} : { err: describeError(error) };
    const stack = error instanceof Error && this.#verbosityOf(caller) >= stackVerbosity
      ? { stack: describeStack(error) }
      : {};
    const all = { ...cause, ...values, ...stack };
    this.#write({ severity: "E", level: 0, message, values: all, caller });
  }

  enabled(level: number): boolean {
    if (level <= this.#verbosity) return true;
    return this.#rules.length > 0 && level <= this.#verbosityOf(callerOf(this.enabled));
  }

  #verbosityOf(caller: string): number {
    const file = caller.slice(caller.lastIndexOf("/") + 1).replace(/\.\w+:\d+$/, "");
    const rule = this.#rules.find(({ name }) => name.test(file));
    return Math.max(this.#verbosity, rule?.verbosity ?? 0);
  }

  #write(entry: Entry): void {
    const { format, pid, write, writeInfo, now = Date.now } = this.#options;
    const line = format === "json" ? jsonLine(entry, now()) : textLine(entry, now(), pid);
    (entry.severity === "E" ? write : writeInfo ?? write)(line);
  }
}

function textLine(entry: Entry, time: number, pid: number): string {
  const date = new Date(time);
  const two = (value: number) => String(value).padStart(2, "0");
  const micros = String(Math.floor((time % 1000) * 1000)).padStart(6, "0");
  const day = `${two(date.getMonth() + 1)}${two(date.getDate())}`;
  const clock = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  const file = entry.caller.slice(entry.caller.lastIndexOf("/") + 1);
  const values = Object.entries(entry.values).map(([key, value]) => textValue(key, value)).join("");
  const head = `${entry.severity}${day} ${clock}.${micros} ${String(pid).padStart(7)} ${file}]`;
  return `${head} ${entry.plain ? entry.message : JSON.stringify(entry.message)}${values}\n`;
}

/** Several lines are shown as they are, as klog does: key=<, each line after a tab, and ` >`. */
function textValue(key: string, value: unknown): string {
  const text = value instanceof Error ? describeError(value) : value;
  if (typeof text !== "string") return ` ${key}=${toJson(text)}`;
  if (!text.includes("\n")) return ` ${key}=${JSON.stringify(text)}`;
  const lines = text.replace(/\n$/, "").split("\n");
  return ` ${key}=<\n${lines.map((line) => `\t${line}\n`).join("")} >`;
}

function jsonLine(entry: Entry, time: number): string {
  const level = entry.severity === "E" ? {} : { v: entry.level };
  const head = { ts: time, caller: entry.caller, msg: entry.message, ...level };
  return `${toJson({ ...head, ...entry.values })}\n`;
}

function toJson(value: unknown): string {
  return JSON.stringify(value, (_key, part) => {
    if (typeof part === "bigint") return String(part);
    if (part instanceof Error) return describeError(part);
    if (part instanceof Map) return Object.fromEntries(part);
    if (part instanceof Set) return [...part];
    return part;
  }) ?? "null";
}

function globPattern(pattern: string): RegExp {
  const source = pattern.replace(/[\\^$.|+()[\]{}]/g, "\\$&").replaceAll("*", ".*");
  return new RegExp(`^${source.replaceAll("?", ".")}$`);
}

/** `room/file.ts:12` of whoever called `method`: the last two parts of the path. */
function callerOf(method: unknown): string {
  const holder: { stack?: string } = {};
  Error.captureStackTrace(holder, typeof method === "function" ? method : undefined);
  // Frames look like "    at name (file:///x/lib/sync/syncer.ts:12:5)".
  const place = /([^/\s()]+\/)?([^/\s()]+):(\d+):\d+\)?$/m.exec(holder.stack ?? "");
  return place ? `${place[1] ?? ""}${place[2]}:${place[3]}` : "kube-proxy:0";
}
