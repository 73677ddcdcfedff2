import assert from "node:assert/strict";
import fc from "fast-check";
import { runCommand } from "../../cmd/run_command.ts";
import { formLines, refusedLines } from "../peers/flag_line_forms.ts";
import { distributionLines } from "../peers/flag_lines.ts";
import { flagFile } from "../peers/flag_record.ts";
import { runProgram } from "./surroundings.ts";

const lines = [...distributionLines, ...formLines, ...refusedLines]
  .map(({ args }) => args.map((arg) => arg.replace(/@([\w.]+)$/, (_, file) => flagFile(file))));

const junk = ["", "=", "-", "--", "\0", "\u00fc", "1e999", "0x", "\n", ",,", '"', "::", "[", "-1"]
  .concat(["__proto__=true", "constructor=true", "999999999999999999999"]);

/** A command line of which some arguments were cut, stuffed or replaced. */
const mutated = fc.tuple(
  fc.constantFrom(...lines),
  fc.array(
    fc.record({ at: fc.nat(9), cut: fc.nat(40), keep: fc.nat(40), text: fc.constantFrom(...junk) }),
    {
      minLength: 1,
      maxLength: 3,
    },
  ),
).map(([line, changes]) => {
  const args = [...line];
  for (const { at, cut, keep, text } of changes) {
    const index = at % (args.length + 1);
    const arg = args[index] ?? "";
    args[index] = arg.slice(0, cut) + text + arg.slice(keep);
  }
  return args.filter((arg) => !arg.startsWith("--write"));
});

/** What only a slip of this program would say. */
const slip = /undefined|is not a function|not iterable|Cannot convert|not defined|\bat .*\.ts:\d/;

Deno.test("500 mutated command lines end with an exit code and a sentence", async () => {
  await fc.assert(
    fc.asyncProperty(mutated, async (args) => {
      const { exitCode, stderr } = await runProgram(args, {
        entries: [{
          words: ["run"],
          summary: "run",
          load: () => Promise.resolve(runCommand(() => Promise.resolve(0))),
        }],
      });
      assert.ok([0, 1, 2].includes(exitCode), String(exitCode));
      if (exitCode !== 0) assert.match(stderr, /^Error: |command failed/m);
      // From verbosity 6 on a stack is what was asked for.
      assert.doesNotMatch(stderr.replace(/ stack=<\n[^]*?\n >/g, ""), slip);
    }),
    { numRuns: 500 },
  );
});
