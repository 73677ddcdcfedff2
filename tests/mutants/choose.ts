/** Which mutants are tried. */
import type { Mutant } from "./mutate.ts";

/**
 * As many mutants as wanted, in the order of the files. Each has its own lot, drawn from the seed and from
 * what is changed in which line of code: where sources change, the others are chosen as before.
 */
export function choose(
  mutants: readonly Mutant[],
  { seed, count }: { readonly seed: number; readonly count: number },
): Mutant[] {
  const seen = new Map<string, number>();
  const lots = mutants.map((mutant) => {
    const text = `${seed}\n${mutant.path}\n${mutant.code}\n${mutant.change}`;
    const before = seen.get(text) ?? 0;
    seen.set(text, before + 1);
    return { mutant, lot: lotOf(`${text}\n${before}`) };
  });
  const chosen = lots.toSorted((a, b) => a.lot - b.lot).slice(0, count);
  const wanted = new Set(chosen.map(({ mutant }) => mutant));
  return mutants.filter((mutant) => wanted.has(mutant));
}

/** A number that looks random, the same for the same text (FNV-1a, then mixed as in MurmurHash3). */
function lotOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
