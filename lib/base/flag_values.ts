/**
 * The kinds of values that flags take, with the rules of Go's `strconv` and of the flag types of
 * Kubernetes: `0x10` is a number, `T` is true, lists are CSV, repeated maps merge.
 */
import type { FlagType } from "./flags.ts";
import { formatDuration, parseDuration } from "./duration.ts";
import { parseIp } from "./ip.ts";
import { kubernetesVersion } from "./version.ts";

/** `1`, `t`, `TRUE`, `0`, `f`, `False` and their like; alone it means true. */
export const boolean: FlagType<boolean> = {
  name: "",
  bare: "true",
  parse(text) {
    if (/^(1|t|T|TRUE|true|True)$/.test(text)) return true;
    if (/^(0|f|F|FALSE|false|False)$/.test(text)) return false;
    throw new Error(`"${text}" is neither true nor false`);
  },
  format: String,
};

/** Any text. */
export const string: FlagType<string> = {
  name: "string",
  parse: (text) => text,
  format: String,
};

/** A path, to be completed as one. */
export const path: FlagType<string> = { ...string, name: "file", completion: { kind: "file" } };

/** Every occurrence adds one path; commas mean nothing. */
export const repeatedPath: FlagType<readonly string[]> = {
  name: "file",
  parse: (text, before) => [...before, text],
  format: (value) => value.join(","),
  completion: { kind: "file" },
};

/** One of the given words. */
export function oneOf<T extends string>(name: string, choices: readonly T[]): FlagType<T> {
  return {
    name,
    parse(text) {
      const choice = choices.find((each) => each === text);
      if (choice === undefined) {
        throw new Error(`"${text}" is none of ${choices.join(", ")}`);
      }
      return choice;
    },
    format: String,
    completion: { kind: "words", words: choices },
  };
}

/** 32 bits with a sign; `0x10`, `0b11`, `0o17`, `017` and `1_000` as in Go. */
export const int32: FlagType<number> = {
  name: "int32",
  parse(text) {
    const value = parseInteger(text);
    if (value === undefined) throw new Error(`"${text}" is no whole number`);
    if (value < -(2 ** 31) || value >= 2 ** 31) {
      throw new Error(`${text} is outside of -2147483648 to 2147483647`);
    }
    return value;
  },
  format: String,
};

/** A level of verbosity: a decimal number of at most 31 bits. */
export const level: FlagType<number> = {
  name: "Level",
  parse(text) {
    if (!/^\d+$/.test(text)) throw new Error(`"${text}" is no whole number from 0 on`);
    if (Number(text) >= 2 ** 31) throw new Error(`${text} is more than 2147483647`);
    return Number(text);
  },
  format: String,
};

/** A decimal number that 32 bits of floating point can hold. */
export const float32: FlagType<number> = {
  name: "float32",
  parse(text) {
    if (!/^[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?$/.test(text)) {
      throw new Error(`"${text}" is no number`);
    }
    const value = Number(text);
    if (!Number.isFinite(Math.fround(value))) throw new Error(`${text} is too large`);
    return value;
  },
  format: String,
};

/** Milliseconds from `1h30m`, `500ms`; a bare number but 0 is refused. */
export const duration: FlagType<number> = {
  name: "duration",
  parse(text) {
    const milliseconds = parseDuration(text);
    if (milliseconds === undefined) {
      throw new Error(`"${text}" is no duration such as 30s, 1m30s or 500ms`);
    }
    return milliseconds;
  },
  format: formatDuration,
  inFile: formatDuration,
};

/** A line of CSV; repeated occurrences add to the list. */
export const stringList: FlagType<readonly string[]> = {
  name: "strings",
  parse: (text, before) => [...before, ...(text === "" ? [] : parseCsv(text))],
  format: (value) => `[${value.map(csvField).join(",")}]`,
};

/** `a=true,b=false`; repeated occurrences merge, the later one winning. */
export const booleanMap: FlagType<Readonly<Record<string, boolean>>> = {
  name: "mapStringBool",
  parse(text, before) {
    const pairs = text.split(",").filter((pair) => pair !== "").map((pair) => {
      const at = pair.indexOf("=");
      if (at < 0) throw new Error(`"${pair}" is no pair such as Name=true`);
      const name = pair.slice(0, at).trim();
      try {
        return [name, boolean.parse(pair.slice(at + 1).trim(), false)] as const;
      } catch (cause) {
        throw new Error(`the value of ${name} must be true or false`, { cause });
      }
    });
    return { ...before, ...Object.fromEntries(pairs) };
  },
  format: (value) => Object.entries(value).map(([name, on]) => `${name}=${on}`).sort().join(","),
};

/** An address; empty text leaves what was there. */
export const address: FlagType<string> = {
  name: "ip",
  parse(text, before) {
    if (text === "") return before;
    const plain = withoutLeadingZeros(text);
    if (parseIp(plain) === undefined) throw new Error(`"${text}" is no IP address`);
    return plain;
  },
  format: String,
};

/** An address with or without a port; empty text leaves what was there. */
export const addressAndPort: FlagType<string> = {
  name: "ipport",
  parse(text, before) {
    const plain = withoutLeadingZeros(text);
    if (text === "" || parseIp(plain) !== undefined) return text === "" ? before : plain;
    const [, bracketed, bare, port] = /^(?:\[([^[\]]*)\]|([^[\]:]*)):(\d+)$/.exec(plain) ?? [];
    const host = bracketed ?? bare;
    if (host === undefined || parseIp(host) === undefined) {
      throw new Error(`"${text}" is neither an IP address nor an IP:port`);
    }
    if (Number(port) > 65_535) throw new Error(`${port} is no port`);
    return plain;
  },
  format: String,
};

/** Upstream takes 010.0.0.1 and means 10.0.0.1; every other reader is strict. */
function withoutLeadingZeros(text: string): string {
  return text.includes("::") ? text : text.replace(/(?<=^|\.)0+(?=\d)/g, "");
}

/** `true` and `raw` print a version; one such as `v1.37.0-x` is to be reported from now on. */
export const version: FlagType<string> = {
  name: "version",
  bare: "true",
  parse(text) {
    if (text === "raw") return text;
    if (!text.startsWith("v")) return String(boolean.parse(text, false));
    const [, release] = /^(v\d+\.\d+\.\d+)(?:[-+][\w.+-]*)?$/.exec(text) ?? [];
    if (release === undefined) throw new Error(`"${text}" is no version such as v1.2.3-suffix`);
    if (release !== kubernetesVersion) {
      throw new Error(`version "${text}" must begin as "${kubernetesVersion}" does`);
    }
    return text;
  },
  format: String,
};

/** Go's ParseInt with base 0. */
function parseInteger(text: string): number | undefined {
  const [, sign, digits] = /^([-+]?)(.*)$/s.exec(text) ?? [];
  const plain = digits.replace(/(?<=[\da-fA-FxXoObB])_(?=[\da-fA-F])/g, "");
  const octal = /^0[0-7]+$/.test(plain) ? `0o${plain.slice(1)}` : plain;
  if (!/^(0[xX][\da-fA-F]+|0[oO][0-7]+|0[bB][01]+|0|[1-9]\d*)$/.test(octal)) return undefined;
  return (sign === "-" ? -1 : 1) * Number(octal) + 0;
}

/** One line of CSV; a field in quotes may hold commas, and a quote when it is doubled. */
function parseCsv(text: string): string[] {
  const fields: string[] = [];
  const field = /("(?:[^"]|"")*"|[^",]*)(,|$)/gy;
  let end = 0;
  for (const match of text.matchAll(field)) {
    const raw = match[1];
    fields.push(raw.startsWith('"') ? raw.slice(1, -1).replaceAll('""', '"') : raw);
    end = match.index + match[0].length;
    if (match[2] === "") break;
  }
  if (end !== text.length) throw new Error(`"${text}" has an odd quotation mark`);
  return fields;
}

function csvField(text: string): string {
  return /[",\n]|^\s/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
