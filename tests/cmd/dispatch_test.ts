import assert from "node:assert/strict";
import type { Command, CommandEntry } from "../../cmd/command.ts";
import { outputFlag } from "../../cmd/global_flags.ts";
import { UsageError } from "../../lib/base/errors.ts";
import { int32, stringList } from "../../lib/base/flag_values.ts";
import { defineFlag } from "../../lib/base/flags.ts";
import { runProgram } from "./surroundings.ts";

const countFlag = defineFlag({
  name: "count",
  shorthand: "c",
  type: int32,
  summary: "how many",
  fallback: 3,
});

const namesFlag = defineFlag({
  name: "node-names",
  type: stringList,
  summary: "which nodes",
  fallback: [],
});

/** Prints what it was given. */
const echo: Command = {
  operands: [{ name: "FILE" }, { name: "OTHER", optional: true, repeated: true }],
  flags: [countFlag, namesFlag, outputFlag],
  examples: [{ what: "Echo a file", command: "echo FILE" }],
  run({ arguments: args, stdout }) {
    stdout.write(
      JSON.stringify([
        args.get(countFlag),
        args.get(namesFlag),
        args.get(outputFlag),
        args.operands,
      ]),
    );
    return Promise.resolve(0);
  },
};

function failing(error: unknown, usageExitCode?: number): Command {
  return {
    operands: [],
    flags: [],
    examples: [{ what: "Fail", command: "fail" }],
    ...(usageExitCode === undefined ? {} : { usageExitCode }),
    run: () => Promise.reject(error),
  };
}

function entry(words: string, command: Command): CommandEntry {
  return { words: words.split(" "), summary: `do ${words}`, load: () => Promise.resolve(command) };
}

const entries: readonly CommandEntry[] = [
  entry("echo", echo),
  entry("group first", echo),
  entry("group second", failing(new UsageError('Cannot take "x": it is y'))),
  entry("fail", failing(new Error("Cannot do it: the cause\n  on two lines."))),
];
const groups = [{ word: "group", summary: "things that belong together" }];
const run = entry("run", {
  ...failing(new UsageError("Not like this"), 1),
  flags: [countFlag],
});

const rows: readonly {
  name: string;
  args: string;
  exitCode: number;
  stdout?: RegExp;
  stderr?: RegExp;
}[] = [
  {
    name: "operands",
    args: "echo a b c",
    exitCode: 0,
    stdout: /^\[3,\[\],"text",\["a","b","c"\]\]$/,
  },
  {
    name: "flags anywhere",
    args: "echo -c4 a --node_names=x,y -o json",
    exitCode: 0,
    stdout: /^\[4,\["x","y"\],"json",\["a"\]\]$/,
  },
  { name: "flags end at two hyphens", args: "echo -- -c4", exitCode: 0, stdout: /\["-c4"\]/ },
  { name: "words of two parts", args: "group first a", exitCode: 0, stdout: /\["a"\]/ },
  {
    name: "an operand is missing",
    args: "echo",
    exitCode: 2,
    stderr: /^Error: Missing FILE; --help shows what is needed\n$/,
  },
  {
    name: "an operand too many",
    args: "fail now",
    exitCode: 2,
    stderr: /^Error: Unexpected argument "now"; .*\n$/,
  },
  {
    name: "an unknown flag",
    args: "echo a --cuont=1",
    exitCode: 2,
    stderr: /^Error: Unknown flag "--cuont"; did you mean "--count"\?\n$/,
  },
  {
    name: "an unknown flag like none",
    args: "echo a --zzzzzz",
    exitCode: 2,
    stderr: /^Error: Unknown flag "--zzzzzz"\n$/,
  },
  {
    name: "an unknown letter",
    args: "echo a -z",
    exitCode: 2,
    stderr: /^Error: Unknown flag "-z"\n$/,
  },
  {
    name: "an unknown letter among others",
    args: "echo a -hz",
    exitCode: 2,
    stderr: /^Error: Unknown flag "-z" in "-hz"\n$/,
  },
  {
    name: "a value that does not parse",
    args: "echo a --count=many",
    exitCode: 2,
    stderr: /^Error: Cannot read "--count=many": "many" is no whole number\n$/,
  },
  {
    name: "a choice that is none",
    args: "echo a -o yaml",
    exitCode: 2,
    stderr: /^Error: Cannot read "--output=yaml": "yaml" is none of text, json\n$/,
  },
  {
    name: "a value that is missing",
    args: "echo a --count",
    exitCode: 2,
    stderr: /^Error: Flag "--count" needs a value: how many\n$/,
  },
  {
    name: "an unknown command",
    args: "ehco a",
    exitCode: 2,
    stderr: /^Error: Unknown command "ehco"; did you mean "echo"\?\n$/,
  },
  {
    name: "an unknown command like none",
    args: "frobnicate",
    exitCode: 2,
    stderr: /; kube-proxy help lists the commands\n$/,
  },
  {
    name: "an unknown command of a group",
    args: "group frist",
    exitCode: 2,
    stderr: /Unknown command "group frist"; did you mean "group first"\?/,
  },
  {
    name: "a group alone",
    args: "group",
    exitCode: 2,
    stderr: /^Things that belong together\.[^]*group second/,
  },
  {
    name: "a group's help",
    args: "group --help",
    exitCode: 0,
    stdout: /group first .*\n.*group second/,
  },
  { name: "help of a group", args: "help group", exitCode: 0, stdout: /Examples:/ },
  { name: "help inside a group", args: "group help", exitCode: 0, stdout: /Examples:/ },
  {
    name: "help of a command",
    args: "help group first",
    exitCode: 0,
    stdout: /Usage:\n {2}kube-proxy group first FILE \[OTHER\.\.\.\] \[FLAGS\]/,
  },
  {
    name: "help of an unknown command",
    args: "help ehco",
    exitCode: 2,
    stderr: /did you mean "echo"/,
  },
  {
    name: "a command's help",
    args: "echo -h",
    exitCode: 0,
    stdout: /-c, --count int32 +how many \(default 3\)/,
  },
  {
    name: "help with a mistake beside it",
    args: "echo --help --nope",
    exitCode: 2,
    stderr: /Unknown flag/,
  },
  {
    name: "the program's help",
    args: "--help",
    exitCode: 0,
    stdout: /Commands:\n {2}echo .*Examples:/s,
  },
  { name: "the program's help as a word", args: "help", exitCode: 0, stdout: /Commands:/ },
  {
    name: "the version, of any command",
    args: "echo a --version",
    exitCode: 0,
    stdout: /^Kubernetes v1\.37\.0\nkube-proxy /,
  },
  {
    name: "the version in parts",
    args: "fail --version=raw",
    exitCode: 0,
    stdout: /^version\.Info\{Major:"1", Minor:"37".*GitVersion:"v1\.37\.0"/,
  },
  {
    name: "a version of another release",
    args: "fail --version=v1.36.0",
    exitCode: 2,
    stderr: /must begin as "v1\.37\.0" does/,
  },
  {
    name: "a failure, in one line",
    args: "fail",
    exitCode: 1,
    stderr: /^Error: Cannot do it: the cause on two lines\n$/,
  },
  {
    name: "a failure with its stack",
    args: "fail -v6",
    exitCode: 1,
    stderr: /^Error: .*\nError: Cannot do it[^]*dispatch_test\.ts/,
  },
  {
    name: "wrong usage found late",
    args: "group second",
    exitCode: 2,
    stderr: /^Error: Cannot take "x": it is y\n$/,
  },
];

Deno.test("dispatch() runs what is asked for and tells what is wrong", async (t) => {
  for (const { name, args, exitCode, stdout = /^$/, stderr = /^$/ } of rows) {
    await t.step(name, async () => {
      const ran = await runProgram(args.split(" "), { entries, groups });
      assert.match(ran.stderr, stderr);
      assert.match(ran.stdout, stdout);
      assert.equal(ran.exitCode, exitCode);
    });
  }
});

Deno.test("dispatch() takes a command line without a command as run", async (t) => {
  const everything = [run, ...entries];
  await t.step("nothing, not on a terminal", async () => {
    const ran = await runProgram([], { entries: everything });
    assert.deepEqual([ran.exitCode, ran.stderr], [1, "Error: Not like this\n"]);
  });
  await t.step("nothing, on a terminal: help", async () => {
    const ran = await runProgram([], { entries: everything, isTerminal: true });
    assert.equal(ran.exitCode, 0);
    assert.match(ran.stdout, /Commands:/);
  });
  await t.step("flags alone", async () => {
    const ran = await runProgram(["--count=1"], { entries: everything });
    assert.deepEqual([ran.exitCode, ran.stderr], [1, "Error: Not like this\n"]);
  });
  await t.step("an empty argument, as upstream", async () => {
    assert.equal((await runProgram(["", "--count=1"], { entries: everything })).exitCode, 1);
  });
  await t.step("wrong usage has upstream's exit code", async () => {
    assert.equal((await runProgram(["--nope"], { entries: everything })).exitCode, 1);
    assert.equal((await runProgram(["run", "--nope"], { entries: everything })).exitCode, 1);
    assert.equal((await runProgram(["run", "operand"], { entries: everything })).exitCode, 1);
  });
  await t.step("a command after flags is an operand", async () => {
    const ran = await runProgram(["--count=1", "echo"], { entries: everything });
    assert.equal(
      ran.stderr,
      'Error: Unexpected argument "echo"; a command stands before its flags\n',
    );
  });
  await t.step("no run, no guess", async () => {
    const ran = await runProgram(["--count=1"], { entries });
    assert.deepEqual([ran.exitCode, ran.stderr], [2, "Error: Missing command\n"]);
  });
});

Deno.test("help is bold on a terminal alone, and never with NO_COLOR", async (t) => {
  const shown = async (setup: { isTerminal?: boolean; env?: Record<string, string> }) =>
    (await runProgram(["--help"], { entries, ...setup })).stdout.includes("\x1b[");
  await t.step("on a terminal", async () => assert.equal(await shown({ isTerminal: true }), true));
  await t.step("in a pipe", async () => assert.equal(await shown({}), false));
  await t.step("with NO_COLOR", async () => {
    assert.equal(await shown({ isTerminal: true, env: { NO_COLOR: "1" } }), false);
  });
});
