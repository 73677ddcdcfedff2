/** Which mutants are tried. */
import { Draws } from "../scenarios/random_services.ts";
import type { Mutant } from "./mutate.ts";

/** As many mutants as wanted, the same for the same seed and sources, in the order of the files. */
export function choose(
  mutants: readonly Mutant[],
  { seed, count }: { readonly seed: number; readonly count: number },
): Mutant[] {
  const draws = new Draws(seed);
  const left = [...mutants];
  const chosen = new Set<Mutant>();
  while (chosen.size < count && left.length > 0) {
    chosen.add(left.splice(draws.below(left.length), 1)[0]);
  }
  return mutants.filter((mutant) => chosen.has(mutant));
}
