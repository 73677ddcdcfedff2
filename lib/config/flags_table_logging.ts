/** Upstream's logging flags: they hold with `--config` too, where they are given. */
import { type Field, root, type RunFlag, runFlag, within } from "./flags_define.ts";
import { fieldFlag } from "./flags_table.ts";
import * as values from "../base/flag_values.ts";
import { quantity, verbosityPatterns } from "./logging_flag_values.ts";
import type { LogFormatOptions } from "./internal.ts";

const logging = within(root, "logging");
const options = within(logging, "options");

const flushFrequency: Field<number> = {
  ...within(within(logging, "flushFrequency"), "milliseconds"),
  path: "logging.flushFrequency",
};

function formatFlags(format: "json" | "text", place: Field<LogFormatOptions>): readonly RunFlag[] {
  return [
    fieldFlag(within(place, "infoBufferSize"), {
      name: `log-${format}-info-buffer-size`,
      type: quantity,
      scope: "always",
      group: "Logging",
      summary: `[alpha] accepted; records of the ${format} format are never held back`,
    }),
    fieldFlag(within(place, "splitStream"), {
      name: `log-${format}-split-stream`,
      type: values.boolean,
      scope: "always",
      group: "Logging",
      summary: `[alpha] in the ${format} format, write informational records to stdout`,
    }),
  ];
}

/** Verbosity: also a flag of every other command. */
const verbosityFlag = fieldFlag(within(logging, "verbosity"), {
  name: "v",
  shorthand: "v",
  type: values.level,
  scope: "always",
  group: "Logging",
  summary: "how much to say: 0 to 10; errors come with their stacks from 6 on",
});

/** Format: also a flag of every other command. */
const loggingFormatFlag = fieldFlag(within(logging, "format"), {
  name: "logging-format",
  type: values.string,
  typeName: "format",
  scope: "always",
  group: "Logging",
  summary: "text or json",
  completion: { kind: "words", words: ["json", "text"] },
});

export const loggingFlags: readonly RunFlag[] = [
  fieldFlag(flushFrequency, {
    name: "log-flush-frequency",
    type: values.duration,
    scope: "always",
    group: "Logging",
    summary: "accepted; every record is written at once",
  }),
  ...formatFlags("json", within(options, "json")),
  ...formatFlags("text", within(options, "text")),
  loggingFormatFlag,
  verbosityFlag,
  runFlag({
    name: "vmodule",
    type: verbosityPatterns,
    scope: "always",
    group: "Logging",
    summary: "verbosity of single source files, in the text format",
    fallback: [],
    place: {
      path: "logging.vmodule",
      read: (configuration) => configuration.logging.vmodule,
      // Those of a file stay; the flag's come first and so win.
      write: (configuration, value) => {
        const before = configuration.logging.vmodule;
        const vmodule = [...value, ...before];
        return { ...configuration, logging: { ...configuration.logging, vmodule } };
      },
    },
  }),
];
