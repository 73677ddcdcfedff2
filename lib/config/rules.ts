/** Conditions on single values that no mode owns. Their sentences say what upstream's say. */
import type { Breach, Rule } from "../base/fields.ts";
import { ipFamilyOf, parseCidr } from "../base/ip.ts";
import { modeNames } from "../writers/registry.ts";
import type { FlushFrequency, VerbosityPattern } from "./internal.ts";

/** The values of the field `mode`; which of them this platform has is decided when validating. */
export const proxyMode = { names: [...modeNames, ""] } as const;

/** Host and port of `1.2.3.4:80` or `[::1]:80`, or undefined when the text is no such pair. */
export function splitHostPort(text: string): { host: string; port: string } | undefined {
  const match = /^(?:\[([^[\]]*)\]|([^[\]:]*)):([^[\]:]*)$/.exec(text);
  return match ? { host: match[1] ?? match[2], port: match[3] } : undefined;
}

/** An IP (brackets round IPv6) and a port from 1 to 65535; host names are refused. */
export const bindAddress: Rule<string> = {
  check: (value) => {
    // Empty is no server: only a deprecated flag can say so, defaulting fills it otherwise.
    if (value === "") return [];
    const parts = splitHostPort(value);
    if (!parts) return [{ rule: "must be IP:port" }];
    const breaches: Breach[] = [];
    if (!ipFamilyOf(parts.host)) breaches.push({ rule: "must be a valid IP", value: parts.host });
    const port = /^[-+]?\d+$/.test(parts.port) ? Number(parts.port) : 0;
    if (port < 1 || port > 65535) {
      breaches.push({ rule: "must be a valid port", value: parts.port });
    }
    return breaches;
  },
};

const nodePortKeywords: readonly string[] = ["primary", "localhost", "all"];

/** Ranges and keywords; a keyword may stand there once. */
export const eachNodePortAddress: Rule<readonly string[]> = {
  check: (values) =>
    values.flatMap((value, index): Breach[] => {
      if (nodePortKeywords.includes(value)) {
        return values.indexOf(value) === index
          ? []
          : [{ rule: "must not be given twice", index, value }];
      }
      if (parseCidr(value)) return [];
      const rule = "must be a valid CIDR or one of the keywords 'primary', 'localhost', 'all'";
      return [{ rule, index, value }];
    }),
};

/** Addresses, at most one of a family. */
export const eachNodeIp: Rule<readonly string[]> = {
  check: (values) =>
    values.flatMap((value, index): Breach[] => {
      const family = ipFamilyOf(value);
      if (!family) {
        return [{ rule: "not a valid textual representation of an IP address", index, value }];
      }
      const first = values.findIndex((other) => ipFamilyOf(other) === family);
      return first === index
        ? []
        : [{ rule: `must be the only ${family} address of the list`, index, value }];
    }),
};

export const flushFrequencyRule: Rule<FlushFrequency> = {
  check: ({ milliseconds }) => milliseconds > 0 ? [] : [{ rule: "Must be greater than zero" }],
};

const largestVerbosity = 2 ** 31 - 1;

export const verbosityRule: Rule<number> = {
  check: (value) => value <= largestVerbosity ? [] : [{ rule: `Must be <= ${largestVerbosity}` }],
  jsonSchema: { maximum: largestVerbosity },
};

export const eachVerbosityPattern: Rule<readonly VerbosityPattern[]> = {
  check: (values) =>
    values.flatMap(({ filePattern, verbosity }, index) => {
      const breaches: Breach[] = [];
      if (filePattern === "") breaches.push({ rule: "File pattern must not be empty", index });
      if (/[=,]/.test(filePattern)) {
        const rule = "File pattern must not contain equal sign or comma";
        breaches.push({ rule, index, value: filePattern });
      }
      if (verbosity > largestVerbosity) {
        breaches.push({ rule: `Must be <= ${largestVerbosity}`, index, value: verbosity });
      }
      return breaches;
    }),
};
