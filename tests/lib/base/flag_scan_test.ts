import assert from "node:assert/strict";
import { isGiven, scanFlags, valueOf } from "../../../lib/base/flag_scan.ts";
import { boolean, level, string } from "../../../lib/base/flag_values.ts";
import { defineFlag } from "../../../lib/base/flags.ts";

const onFlag = defineFlag({
  name: "on",
  shorthand: "o",
  type: boolean,
  summary: "x",
  fallback: false,
});
const nameFlag = defineFlag({
  name: "the-name",
  shorthand: "n",
  type: string,
  summary: "x",
  fallback: "-",
});
const levelFlag = defineFlag({ name: "v", shorthand: "v", type: level, summary: "x", fallback: 0 });
const oldFlag = defineFlag({
  name: "old",
  type: string,
  summary: "x",
  fallback: "",
  deprecated: "use new",
});
const flags = [onFlag, nameFlag, levelFlag, oldFlag];

const rows: readonly {
  args: string[];
  on?: boolean;
  name?: string;
  v?: number;
  operands?: string[];
}[] = [
  { args: [] },
  { args: ["--on"], on: true },
  { args: ["--on=false"], on: false },
  { args: ["--on", "false"], on: true, operands: ["false"] },
  { args: ["--the-name=a=b"], name: "a=b" },
  { args: ["--the_name", "--on"], name: "--on" },
  { args: ["--the-name="], name: "" },
  { args: ["--the-name=a\nb"], name: "a\nb" },
  { args: ["-v4"], v: 4 },
  { args: ["-v=4"], v: 4 },
  { args: ["-v", "4"], v: 4 },
  { args: ["--v", "4"], v: 4 },
  { args: ["-ov4"], on: true, v: 4 },
  { args: ["-on", "x"], on: true, name: "x" },
  { args: ["-n="], name: "=" },
  { args: ["-"], operands: ["-"] },
  { args: ["a", "-v1", "b"], v: 1, operands: ["a", "b"] },
  { args: ["--", "-v1"], operands: ["-v1"] },
];

Deno.test("scanFlags() reads a command line as pflag does", async (t) => {
  for (const { args, on = false, name = "-", v = 0, operands = [] } of rows) {
    await t.step(JSON.stringify(args), () => {
      const scanned = scanFlags(args, flags);
      const read = [
        valueOf(onFlag, scanned),
        valueOf(nameFlag, scanned),
        valueOf(levelFlag, scanned),
      ];
      assert.deepEqual([...read, scanned.operands], [on, name, v, operands]);
    });
  }
});

const refused: readonly [args: string[], message: string][] = [
  [["--"], ""],
  [["---v"], 'Cannot read "---v": a flag is written --name=value'],
  [["--=v"], 'Cannot read "--=v": a flag is written --name=value'],
  [["--the-nam=x"], 'Unknown flag "--the-nam"; did you mean "--the-name"?'],
  [["--od=x"], 'Unknown flag "--od"; did you mean "--on"?'],
  [["-ox"], 'Unknown flag "-x" in "-ox"'],
  [["--the-name"], 'Flag "--the-name" needs a value: x'],
  [["-n"], 'Flag "-n" needs a value: x'],
  [["--on=maybe"], 'Cannot read "--on=maybe": "maybe" is neither true nor false'],
  [["-v", "a", "--nope"], 'Cannot read "--v=a": "a" is no whole number from 0 on'],
];

Deno.test("scanFlags() refuses the first thing that is wrong", async (t) => {
  for (const [args, message] of refused) {
    await t.step(JSON.stringify(args), () => {
      if (message === "") assert.deepEqual(scanFlags(args, flags).operands, []);
      else assert.throws(() => scanFlags(args, flags), { name: "UsageError", message });
    });
  }
});

Deno.test("scanFlags() tells of each use of a flag that is going away", () => {
  const scanned = scanFlags(["--old=1", "--old=2"], flags);
  const line = "Flag --old has been deprecated, use new";
  assert.deepEqual(scanned.deprecations, [line, line]);
  assert.equal(isGiven(oldFlag, scanned), true);
  assert.equal(isGiven(onFlag, scanned), false);
});
