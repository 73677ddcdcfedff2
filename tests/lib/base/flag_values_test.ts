import assert from "node:assert/strict";
import * as values from "../../../lib/base/flag_values.ts";
import { defineFlag, type FlagType } from "../../../lib/base/flags.ts";

/** What one text says, as text; or the cause of its refusal. */
function read<T>(type: FlagType<T>, fallback: T, ...texts: string[]): string {
  try {
    const flag = defineFlag({ name: "x", type, summary: "", fallback });
    return flag.show(texts);
  } catch (error) {
    return `refused: ${error instanceof Error ? error.message : error}`;
  }
}

const rows: readonly { name: string; got: string; expected: string | RegExp }[] = [
  ...["1", "t", "T", "TRUE", "true", "True"].map((text) => ({
    name: `boolean ${text}`,
    got: read(values.boolean, false, text),
    expected: "true",
  })),
  ...["0", "f", "F", "FALSE", "false", "False"].map((text) => ({
    name: `boolean ${text}`,
    got: read(values.boolean, true, text),
    expected: "false",
  })),
  {
    name: "boolean yes",
    got: read(values.boolean, false, "yes"),
    expected: /neither true nor false/,
  },
  { name: "int32", got: read(values.int32, 0, "-999"), expected: "-999" },
  { name: "int32 with a plus", got: read(values.int32, 0, "+7"), expected: "7" },
  { name: "int32, hexadecimal", got: read(values.int32, 0, "0xfF"), expected: "255" },
  { name: "int32, octal", got: read(values.int32, 0, "017"), expected: "15" },
  { name: "int32, binary", got: read(values.int32, 0, "0b101"), expected: "5" },
  { name: "int32, underscores", got: read(values.int32, 0, "1_000"), expected: "1000" },
  { name: "int32, minus nothing", got: read(values.int32, 0, "-0"), expected: "0" },
  { name: "int32, the largest", got: read(values.int32, 0, "2147483647"), expected: "2147483647" },
  {
    name: "int32, the smallest",
    got: read(values.int32, 0, "-2147483648"),
    expected: "-2147483648",
  },
  { name: "int32, smaller", got: read(values.int32, 0, "-2147483649"), expected: /is outside of/ },
  { name: "int32, larger", got: read(values.int32, 0, "2147483648"), expected: /is outside of/ },
  { name: "int32, a fraction", got: read(values.int32, 0, "1.5"), expected: /no whole number/ },
  { name: "int32, empty", got: read(values.int32, 0, ""), expected: /no whole number/ },
  { name: "int32, not octal", got: read(values.int32, 0, "09"), expected: /no whole number/ },
  { name: "float32", got: read(values.float32, 0, "2.5e1"), expected: "25" },
  { name: "float32, too large", got: read(values.float32, 0, "1e39"), expected: /too large/ },
  { name: "float32, a word", got: read(values.float32, 0, "fast"), expected: /no number/ },
  { name: "level", got: read(values.level, 0, "10"), expected: "10" },
  { name: "level below zero", got: read(values.level, 0, "-1"), expected: /no whole number/ },
  { name: "duration", got: read(values.duration, 0, "1h30m"), expected: "1h30m0s" },
  { name: "duration of nothing", got: read(values.duration, 1, "0"), expected: "0s" },
  { name: "duration without a unit", got: read(values.duration, 0, "30"), expected: /such as 30s/ },
  { name: "list", got: read(values.stringList, [], "a,b", "c"), expected: "[a,b,c]" },
  { name: "list, empty", got: read(values.stringList, [], ""), expected: "[]" },
  { name: "list, empty fields", got: read(values.stringList, [], ","), expected: "[,]" },
  { name: "list, quoted", got: read(values.stringList, [], '"a,b",c'), expected: '["a,b",c]' },
  {
    name: "list, doubled quotes",
    got: read(values.stringList, [], '"a""b"'),
    expected: '["a""b"]',
  },
  {
    name: "list, an odd quote",
    got: read(values.stringList, [], 'a,"b'),
    expected: /odd quotation/,
  },
  {
    name: "map",
    got: read(values.booleanMap, {}, "b=true,a=0", "b=F"),
    expected: "a=false,b=false",
  },
  { name: "map, blanks", got: read(values.booleanMap, {}, " a = t ,,"), expected: "a=true" },
  { name: "map, no value", got: read(values.booleanMap, {}, "a"), expected: /no pair/ },
  {
    name: "map, a bad value",
    got: read(values.booleanMap, {}, "a=yes"),
    expected: /value of a must/,
  },
  { name: "address", got: read(values.address, "x", "192.168.0.7"), expected: "192.168.0.7" },
  {
    name: "address, leading zeros",
    got: read(values.address, "x", "010.0.00.1"),
    expected: "10.0.0.1",
  },
  { name: "address, IPv6", got: read(values.address, "x", "fd00::1"), expected: "fd00::1" },
  { name: "address, empty keeps", got: read(values.address, "0.0.0.0", ""), expected: "0.0.0.0" },
  {
    name: "address, a name",
    got: read(values.address, "x", "localhost"),
    expected: /no IP address/,
  },
  {
    name: "address and port",
    got: read(values.addressAndPort, "x", "0.0.0.0:1"),
    expected: "0.0.0.0:1",
  },
  {
    name: "address and port, IPv6",
    got: read(values.addressAndPort, "x", "[::1]:1"),
    expected: "[::1]:1",
  },
  { name: "address without port", got: read(values.addressAndPort, "x", "::1"), expected: "::1" },
  {
    name: "port zero parses",
    got: read(values.addressAndPort, "x", "1.2.3.4:0"),
    expected: "1.2.3.4:0",
  },
  {
    name: "port too large",
    got: read(values.addressAndPort, "x", "1.2.3.4:65536"),
    expected: /no port/,
  },
  { name: "port of a name", got: read(values.addressAndPort, "x", "host:1"), expected: /neither/ },
  { name: "version", got: read(values.version, "false", "v1.37.0-x+y"), expected: "v1.37.0-x+y" },
  { name: "version, raw", got: read(values.version, "false", "raw"), expected: "raw" },
  { name: "version, T", got: read(values.version, "false", "T"), expected: "true" },
  {
    name: "version, not one",
    got: read(values.version, "false", "v1.37"),
    expected: /^refused: .*"v1.37" is no version such as v1.2.3-suffix/,
  },
  { name: "list, a last comma", got: read(values.stringList, [], "a,"), expected: "[a,]" },
  { name: "list, a quote inside", got: read(values.stringList, [], 'a"b'), expected: /odd/ },
  {
    name: "list, a field that begins with a space",
    got: read(values.stringList, [], " a,b"),
    expected: '[" a",b]',
  },
  {
    name: "address and port, the last port",
    got: read(values.addressAndPort, "x", "1.2.3.4:65535"),
    expected: "1.2.3.4:65535",
  },
  {
    name: "address and port, empty keeps",
    got: read(values.addressAndPort, "1.2.3.4:5", ""),
    expected: "1.2.3.4:5",
  },
  {
    name: "address, IPv6 keeps its zeros",
    got: read(values.address, "x", "fd00::0a"),
    expected: "fd00::0a",
  },
  { name: "version, other", got: read(values.version, "false", "v1.37.1"), expected: /must begin/ },
  { name: "choice", got: read(values.oneOf("x", ["a", "b"]), "a", "b"), expected: "b" },
  {
    name: "no choice",
    got: read(values.oneOf("x", ["a", "b"]), "a", "c"),
    expected: /none of a, b/,
  },
  { name: "the last counts", got: read(values.string, "", "a", "b"), expected: "b" },
  { name: "paths add up", got: read(values.repeatedPath, [], "a,b", "c"), expected: "a,b,c" },
];

Deno.test("values of flags are read as Go reads them", async (t) => {
  for (const { name, got, expected } of rows) {
    await t.step(name, () => {
      if (typeof expected === "string") assert.equal(got, expected);
      else assert.match(got, expected);
    });
  }
});
