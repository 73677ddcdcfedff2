/** A table of cases for one check. */
import type { Move } from "../../../lib/doctor/check.ts";
import type { Result } from "../../../lib/doctor/run_checks.ts";
import type { GivenFacts } from "./facts_in_memory.ts";

/** One row. */
export interface CheckCase {
  readonly name: string;
  readonly facts: GivenFacts;
  readonly move?: Partial<Move>;
  readonly result: Result;
  /** Each is found in the evidence. */
  readonly says?: readonly (string | RegExp)[];
  /** All of it, where it matters. */
  readonly advice?: readonly string[];
  readonly unfixable?: true;
}

/** All rows of a check. */
export interface CheckCases {
  readonly id: string;
  readonly cases: readonly CheckCase[];
}
