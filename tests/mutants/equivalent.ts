/** Mutants that no test can notice, each with the reason. */
import type { Mutant } from "./mutate.ts";

/** A mutant is known by its file, its line's text and its change; line numbers move. */
interface Equivalent {
  readonly path: string;
  readonly code: string;
  /** As `scripts/mutants` prints it. */
  readonly change: string;
  readonly reason: string;
}

/** For tests: an entry that stands for no mutant any more goes. */
export const equivalents: readonly Equivalent[] = [
  {
    path: "lib/base/files_watch.ts",
    code: "if (clock.monotonic() < lookAt) continue;",
    change: "`clock.monotonic() < lookAt` -> `(clock.monotonic() <= lookAt)`",
    reason: "at that very moment it looks one turn later, for which it does not wait",
  },
  {
    path: "lib/base/yaml_block.ts",
    code: "if (depth > maxDepth) throw new NotPlain();",
    change: "`depth > maxDepth` -> `(depth >= maxDepth)`",
    reason: "what is too deep for the quick reader is read by the other one, to the same result",
  },
  {
    path: "lib/base/ip.ts",
    code: "if (slash < 0) return undefined;",
    change: "`0` -> `1`",
    reason: "a text that begins with the slash has no address before it, and is refused as well",
  },
  {
    path: "lib/sync/family_sync.ts",
    code: "#requestedMeanwhile = false;",
    change: "`false` -> `true`",
    reason: "each sync sets it before anybody reads it",
  },
  {
    path: "lib/base/flag_values.ts",
    code: 'if (!text.startsWith("v")) return String(boolean.parse(text, false));',
    change: "`false` -> `true`",
    reason: "the value before is of no interest to a boolean",
  },
];

/** Whether the mutant is in the list. */
export function isEquivalent({ change, code, path }: Mutant): boolean {
  return equivalents.some((each) =>
    each.path === path && each.code === code && each.change === change
  );
}
