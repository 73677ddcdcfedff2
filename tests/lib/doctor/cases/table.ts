/** Rows of a check in few words, with those that every check has. */
import type { Move } from "../../../../lib/doctor/check.ts";
import type { FactName } from "../../../../lib/doctor/fact.ts";
import type { Result } from "../../../../lib/doctor/run_checks.ts";
import type { CheckCase, CheckCases } from "../check_cases.ts";
import type { GivenFacts } from "../facts_in_memory.ts";

/** A row without its names. */
export type Row = readonly [
  name: string,
  facts: GivenFacts,
  result: Result,
  says: readonly (string | RegExp)[],
  rest?: {
    readonly move?: Partial<Move>;
    readonly advice?: readonly string[];
    readonly unfixable?: true;
  },
];

/** What a check is called, and what it needs. */
export interface TableOptions {
  readonly id: string;
  /** The first of its facts: what is said of one that cannot be told, or had, is shown by it. */
  readonly needs: FactName;
  readonly move?: Partial<Move>;
}

/** The rows, and the two that follow from what the check needs. */
export function table(
  { id, move = {}, needs }: TableOptions,
  rows: readonly Row[],
): CheckCases {
  const cases = rows.map(([name, facts, result, says, rest]): CheckCase => ({
    name,
    facts,
    result,
    says,
    ...rest,
    move: { ...move, ...rest?.move },
  }));
  const because = "line 3 is garbage";
  return {
    id,
    cases: [
      ...cases,
      {
        name: "a fact that cannot be told",
        facts: { [needs]: { kind: "unknown", because } },
        move,
        result: "unknown",
        says: [because],
      },
      {
        name: "a fact that cannot be had",
        facts: { [needs]: { kind: "lacking", because: "no apiserver" } },
        move,
        result: "skip",
        says: ["no apiserver"],
      },
    ],
  };
}
