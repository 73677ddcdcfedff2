/** What a run of mutants says of the tests. */
import type { Mutant } from "./mutate.ts";

/** The ends of the mutants. */
export interface Result {
  readonly seed: number;
  /** How many there are in the rooms that were asked for. */
  readonly possible: number;
  /** Those that no test can notice were not tried. */
  readonly equivalent: number;
  readonly killed: readonly Mutant[];
  readonly survived: readonly Mutant[];
}

/** Noticed ones in a hundred of those tried. */
export function percentKilled({ killed, survived }: Result): number {
  const tried = killed.length + survived.length;
  return tried === 0 ? 100 : killed.length / tried * 100;
}

/** Each survivor with its place, then the figures; `floor` is the least share that is good. */
export function reportOf(result: Result, floor: number): string[] {
  const { seed, possible, equivalent, killed, survived } = result;
  const percent = percentKilled(result);
  return [
    ...survived.map((mutant) => `survived: ${describe(mutant)}`),
    `seed ${seed}: ${killed.length + survived.length + equivalent} of ${possible} mutants; ` +
    `${killed.length} killed, ${survived.length} survived, ${equivalent} equivalent: ` +
    `${percent.toFixed(1)} % killed`,
    ...percent < floor ? [`Too few: at least ${floor} % must be killed`] : [],
  ];
}

/** A mutant's place and change. */
export function describe({ path, line, change }: Mutant): string {
  return `${path}:${line}: ${change}`;
}
