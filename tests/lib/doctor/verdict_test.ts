import assert from "node:assert/strict";
import type { CheckResult, Result } from "../../../lib/doctor/run_checks.ts";
import { describeVerdict, exitCodeOf, verdictOf } from "../../../lib/doctor/verdict.ts";
import { checkOf } from "./facts_in_memory.ts";

/** `KRN03 fail!` is one that nothing mends. */
function resultsOf(texts: readonly string[]): readonly CheckResult[] {
  return texts.map((text) => {
    const [id, word] = text.split(" ");
    return {
      check: checkOf({ id }),
      result: word.replace("!", "") as Result,
      subject: `where ${id} looked`,
      evidence: [`${id} saw it`],
      advice: [],
      unfixable: word.endsWith("!"),
    };
  });
}

const rows: readonly {
  readonly results: readonly string[];
  readonly rehearsal?: false;
  readonly says: string;
  readonly exit: number;
  readonly exitOnWarn?: number;
}[] = [
  { results: ["KRN01 pass", "DRY01 pass"], says: "yes", exit: 0 },
  { results: ["KRN01 warn", "DRY01 pass"], says: "yes", exit: 0, exitOnWarn: 1 },
  { results: ["CO08 fail", "DRY01 pass"], says: "yes, after 1 change", exit: 1 },
  { results: ["CO08 fail", "CO09 fail", "CO10 warn"], says: "yes, after 2 changes", exit: 1 },
  { results: ["KRN02 fail!", "CO08 fail"], says: "no, because KRN02: KRN02 saw it", exit: 1 },
  {
    results: ["KRN02 fail!", "KRN03 unknown"],
    says: "no, because KRN02: KRN02 saw it",
    exit: 1,
  },
  { results: ["KRN03 unknown"], says: "cannot tell, because KRN03: KRN03 saw it", exit: 2 },
  { results: ["KRN02 skip"], says: "cannot tell, because KRN02: KRN02 saw it", exit: 2 },
  {
    results: ["KRN01 pass", "DRY01 skip"],
    says: "cannot tell, because DRY01: DRY01 saw it",
    exit: 2,
  },
  {
    results: ["NET05 fail", "DRY01 unknown"],
    says: "cannot tell, because NET05: NET05 saw it; DRY01: DRY01 saw it",
    exit: 1,
  },
  { results: ["NP03 unknown", "CFG07 skip", "KRN01 pass"], says: "yes", exit: 0 },
  {
    results: ["KRN01 pass", "DRY01 skip"],
    rehearsal: false,
    says: "yes, not rehearsed",
    exit: 0,
  },
  {
    results: ["CO08 fail", "DRY01 skip"],
    rehearsal: false,
    says: "yes, after 1 change, not rehearsed",
    exit: 1,
  },
  { results: ["CFG07 skip", "CO01 unknown"], says: "yes", exit: 2 },
];

for (const { exit, exitOnWarn = exit, rehearsal = true, results, says } of rows) {
  const name = `${results.join(", ")}${rehearsal ? "" : ", without a rehearsal"}: ${says}`;
  Deno.test(`${name}, exit ${exit}`, () => {
    const all = resultsOf(results);
    const verdict = verdictOf(all, { rehearsal });
    assert.equal(describeVerdict(verdict, all), says);
    const canMove = says.startsWith("yes") ? true : says.startsWith("no") ? false : null;
    assert.equal(verdict.canMove, canMove);
    assert.equal(exitCodeOf(verdict, { results: all, failOnWarn: false }), exit);
    assert.equal(exitCodeOf(verdict, { results: all, failOnWarn: true }), exitOnWarn);
  });
}

Deno.test("a verdict names the checks that decided", () => {
  const of = (...texts: readonly string[]) => verdictOf(resultsOf(texts), { rehearsal: true });
  assert.deepEqual(of("CO08 fail", "CO09 warn"), {
    canMove: true,
    changes: 1,
    because: ["CO08"],
    unrehearsed: false,
  });
  assert.deepEqual(of("KRN02 fail!", "CO08 fail").because, ["KRN02"]);
  assert.equal(of("KRN02 fail!", "CO08 fail").changes, 1);
  assert.deepEqual(of("KRN02 unknown", "CO08 fail").because, ["KRN02"]);
});

Deno.test("a verdict falls back on the place where a check without evidence looked", () => {
  const [result] = resultsOf(["KRN03 unknown"]);
  const all = [{ ...result, evidence: [] }];
  const said = describeVerdict(verdictOf(all, { rehearsal: true }), all);
  assert.equal(said, "cannot tell, because KRN03: where KRN03 looked");
});
