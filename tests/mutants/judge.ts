/** Tries mutants on copies of the project, several at a time. */
import type { Mutant } from "./mutate.ts";
import { mutated } from "./mutate.ts";
import type { Ring } from "./reach.ts";
import type { TreeCopy } from "./tree_copy.ts";

/** How a mutant ended. */
export type Fate = "killed" | "survived";

/** What is needed to try mutants. */
export interface Court {
  readonly copies: readonly TreeCopy[];
  /** The unmutated text of a file. */
  textOf(path: string): string;
  ringsOf(path: string): readonly Ring[];
  /** How long tests may take; a fault that makes them later is noticed. */
  limitSeconds(tests: Ring): number;
  /** Ends the trial. */
  readonly signal: AbortSignal;
  /** Told as soon as a fate is known, in no order. */
  onFate?(mutant: Mutant, fate: Fate): void;
}

/** The fate of each mutant, in their order. */
export async function judge(mutants: readonly Mutant[], court: Court): Promise<Fate[]> {
  const fates: Fate[] = [];
  let next = 0;
  const ends = await Promise.allSettled(court.copies.map(async (copy) => {
    while (next < mutants.length) {
      court.signal.throwIfAborted();
      const index = next++;
      fates[index] = await fateOf(mutants[index], copy, court);
      court.onFate?.(mutants[index], fates[index]);
    }
  }));
  // Only now: no copy is in use any more, and whoever hears of a failure may remove them.
  for (const end of ends) if (end.status === "rejected") throw end.reason;
  return fates;
}

async function fateOf(mutant: Mutant, copy: TreeCopy, court: Court): Promise<Fate> {
  const text = mutated(court.textOf(mutant.path), mutant);
  return await copy.with(mutant.path, text, async () => {
    for (const tests of court.ringsOf(mutant.path)) {
      const verdict = await copy.test({
        tests,
        limitSeconds: court.limitSeconds(tests),
        signal: court.signal,
      });
      if (verdict.kind !== "passed") return "killed";
    }
    return "survived";
  });
}
