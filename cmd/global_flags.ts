/** Flags of every command but `run`, whose own have the same names and more. */
import { boolean, level, oneOf, version } from "../lib/base/flag_values.ts";
import { defineFlag, type Flag } from "../lib/base/flags.ts";

export const helpFlag = defineFlag({
  name: "help",
  shorthand: "h",
  type: boolean,
  summary: "show this help",
  fallback: false,
});

export const verbosityFlag = defineFlag({
  name: "v",
  shorthand: "v",
  type: level,
  summary: "how much to say: 0 to 10; errors come with their stacks from 6 on",
  fallback: 0,
});

export const loggingFormatFlag = defineFlag({
  name: "logging-format",
  type: oneOf("format", ["json", "text"]),
  summary: "how to log: text or json",
  fallback: "text",
});

export const versionFlag = defineFlag({
  name: "version",
  type: version,
  summary: "print the version and exit",
  fallback: "false",
});

/** What they have in common: the last lines of every help. */
export const globalFlags = [helpFlag, loggingFormatFlag, verbosityFlag, versionFlag] as const;

/** A command's own flags, and those of every command that it does not have itself. */
export function withGlobalFlags(own: readonly Flag[]): readonly Flag[] {
  return [...own, ...globalFlags.filter(({ name }) => !own.some((flag) => flag.name === name))];
}

/** For commands that can answer programs: `-o json`. */
export const outputFlag = defineFlag({
  name: "output",
  shorthand: "o",
  type: oneOf("format", ["text", "json"]),
  summary: "text for people, json for programs",
  fallback: "text",
});
