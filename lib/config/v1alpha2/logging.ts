/** The section `logging`: the same in both versions. */
import * as z from "zod";
import {
  field,
  type FieldOptions,
  type FieldsOf,
  flag,
  oneOf,
  section,
  text,
} from "../../base/fields.ts";
import { formatDuration, parseDuration } from "../../base/duration.ts";
import type { FlushFrequency, LogFormatOptions, Logging, VerbosityPattern } from "../internal.ts";
import { canonicalQuantity } from "../quantity.ts";
import { eachVerbosityPattern, flushFrequencyRule, verbosityRule } from "../rules.ts";

const flushFrequency = z.codec(
  z.union([z.string(), z.int()]),
  z.custom<FlushFrequency>(),
  {
    decode: (value, context) => {
      if (typeof value === "number") return { milliseconds: value / 1e6, asNumber: true };
      const milliseconds = parseDuration(value);
      if (milliseconds !== undefined) return { milliseconds, asNumber: false };
      context.issues.push({ code: "custom", input: value, message: "no duration" });
      return z.NEVER;
    },
    encode: ({ milliseconds, asNumber }) =>
      asNumber ? Math.round(milliseconds * 1e6) : formatDuration(milliseconds),
  },
);

const quantity = z.codec(z.union([z.string(), z.number()]), z.string(), {
  decode: (value, context) => {
    const canonical = canonicalQuantity(String(value));
    if (canonical !== undefined) return canonical;
    context.issues.push({ code: "custom", input: value, message: "no quantity" });
    return z.NEVER;
  },
  encode: (value) => value,
});

const verbosityPatterns: z.ZodType<readonly VerbosityPattern[]> = z.array(
  z.object({ filePattern: z.string().default(""), verbosity: z.uint32().default(0) }),
).readonly();

function formatOptions(format: string): FieldsOf<LogFormatOptions> {
  return {
    splitStream: flag({
      default: false,
      doc: `Write informational messages to stdout (gate LoggingAlphaOptions).`,
      upstream: `logging.options.${format}.splitStream`,
    }),
    infoBufferSize: field(quantity, 'a quantity such as "4Ki"', {
      default: "0",
      doc: `Gather so many bytes of informational messages (gate LoggingAlphaOptions).`,
      upstream: `logging.options.${format}.infoBufferSize`,
    }),
  };
}

const verbosity: FieldOptions<number> = {
  default: 0,
  doc: "How much is logged; 0 is the least.",
  rules: [verbosityRule],
  upstream: "logging.verbosity",
};

export const loggingFields: FieldsOf<Logging> = {
  format: text({
    default: "text",
    doc: "text or json.",
    rules: [oneOf(["text", "json"])],
    upstream: "logging.format",
    zeroIsUnset: true,
  }),
  flushFrequency: field<FlushFrequency>(
    flushFrequency,
    'a duration such as "5s", or a number of nanoseconds',
    {
      default: { milliseconds: 5_000, asNumber: false },
      doc: "How often gathered messages are written: a duration, or a number of nanoseconds.",
      rules: [flushFrequencyRule],
      upstream: "logging.flushFrequency",
      zeroIsUnset: true,
    },
  ),
  verbosity: field(z.uint32(), "a whole number from 0", verbosity),
  vmodule: field(verbosityPatterns, "a list of filePattern and verbosity", {
    default: [],
    doc: "Other verbosities for single source files; with the format text only.",
    rules: [eachVerbosityPattern],
    itemKeys: ["filePattern", "verbosity"],
    upstream: "logging.vmodule",
  }),
  options: section("Options of the formats", {
    json: section("Options of the format json", formatOptions("json")),
    text: section("Options of the format text", formatOptions("text")),
  }),
};
