import assert from "node:assert/strict";
import { choose } from "./choose.ts";
import type { Mutant } from "./mutate.ts";
import { percentKilled, reportOf, type Result } from "./result.ts";
import { limitOf, readUnitTimes } from "./unit_times.ts";
import { isIn, readWanted } from "./wanted.ts";

const mutant = (line: number): Mutant => ({
  path: "lib/a.ts",
  line,
  start: line,
  end: line + 1,
  text: ";",
  change: "without `a();`",
  code: "a();",
});
const many = Array.from({ length: 50 }, (_, line) => mutant(line));

Deno.test("choose() gives the same for the same seed, none twice, in their order", () => {
  const lines = (seed: number, count = 10) => choose(many, { seed, count }).map(({ line }) => line);
  assert.deepEqual(lines(1), lines(1));
  assert.notDeepEqual(lines(1), lines(2));
  assert.equal(new Set(lines(1)).size, 10);
  assert.deepEqual(lines(1), lines(1).toSorted((a, b) => a - b));
  assert.equal(lines(1, 80).length, 50);
});

Deno.test("choose() gives what it gave before where other code comes and goes", () => {
  const different = many.map((each) => ({ ...each, code: `a(${each.line});` }));
  const lines = (mutants: readonly Mutant[]) =>
    choose(mutants, { seed: 1, count: 10 }).map(({ line }) => line);
  const before = lines(different);
  const without = different.filter(({ line }) => line !== before[4]);
  assert.deepEqual(lines(without).filter((line) => before.includes(line)), before.toSpliced(4, 1));
  assert.deepEqual(lines(different.filter(({ line }) => before.includes(line))), before);
});

const result: Result = {
  seed: 7,
  possible: 90,
  equivalent: 2,
  killed: many.slice(0, 6),
  survived: many.slice(6, 8),
};

Deno.test("reportOf() names the survivors and counts equivalent ones for nothing", () => {
  assert.equal(percentKilled(result), 75);
  assert.deepEqual(reportOf(result, 75), [
    "survived: lib/a.ts:6: without `a();`",
    "survived: lib/a.ts:7: without `a();`",
    "seed 7: 10 of 90 mutants; 6 killed, 2 survived, 2 equivalent: 75.0 % killed",
  ]);
  assert.equal(reportOf(result, 76).at(-1), "Too few: at least 76 % must be killed");
  assert.equal(percentKilled({ ...result, killed: [], survived: [] }), 100);
});

Deno.test("readUnitTimes() adds up the tests of a file", () => {
  const report = `<testsuites time="3">
    <testsuite name="./tests/lib/a_test.ts" tests="2" failures="0">
        <testcase name="x &gt; y" classname="./tests/lib/a_test.ts" time="0.5" line="3"></testcase>
        <testcase name="z" classname="./tests/lib/a_test.ts" time="1.250" line="9"></testcase>
    </testsuite>
    <testsuite name="./tests/lib/b_test.ts" tests="0"></testsuite>
  </testsuites>`;
  const times = readUnitTimes(report);
  assert.deepEqual([...times], [["tests/lib/a_test.ts", 1.75], ["tests/lib/b_test.ts", 0]]);
  assert.equal(limitOf(["tests/lib/a_test.ts", "tests/lib/new_test.ts"], times), 11);
});

const lines: readonly (readonly [string, readonly string[]])[] = [
  ["", ["lib/", "cmd/namespaces/"]],
  ["kube", ["lib/kube/"]],
  ["lib/kube cmd/namespaces/", ["lib/kube/", "cmd/namespaces/"]],
  ["config/quantity.ts", ["lib/config/quantity.ts"]],
  ["config/quantity.ts:33", ["lib/config/quantity.ts:33"]],
];

for (const [words, rooms] of lines) {
  Deno.test(`readWanted() takes the rooms of "${words}"`, () => {
    assert.deepEqual(readWanted(words.split(" ").filter(Boolean)).rooms, rooms);
  });
}

Deno.test("readWanted() takes figures, and refuses what is none", () => {
  const wanted = readWanted(["--seed", "3", "--count=20", "--floor", "88.5", "--jobs", "4"]);
  const { seed, count, floor, jobs, tests } = wanted;
  assert.deepEqual([seed, count, floor, jobs, tests], [3, 20, 88.5, 4, "near"]);
  assert.equal(readWanted(["--all"]).tests, "all");
  assert.equal(readWanted(["--unit"]).tests, "unit");
  assert.equal(readWanted([]).count, 100);
  assert.throws(() => readWanted(["--count", "many"]), /--count takes a number, not "many"/);
  assert.throws(() => readWanted(["--speed", "1"]), /--speed/);
});

Deno.test("isIn() knows folders, files and lines", () => {
  const rooms = ["lib/", "lib/a.ts", "lib/a.ts:1", "lib/a.ts:12", "lib/b.ts", "cmd/"];
  assert.deepEqual(rooms.filter((room) => isIn(room, mutant(12))), [
    "lib/",
    "lib/a.ts",
    "lib/a.ts:12",
  ]);
});
