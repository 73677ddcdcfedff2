/** Which checks run: all, or those that the command line leaves. */
import { UsageError } from "../base/errors.ts";
import { didYouMean } from "../base/nearest_name.ts";
import type { Check } from "./check.ts";

/** Ids as they were given. Empty lists leave everything. */
export interface CheckChoice {
  readonly only: readonly string[];
  readonly skip: readonly string[];
}

/** In the order of the list. Throws a UsageError for an id that there is none of. */
export function chooseChecks(
  checks: readonly Check[],
  { only, skip }: CheckChoice,
): readonly Check[] {
  const wanted = new Set(only.map((id) => findCheck(checks, id, "--only")));
  const unwanted = new Set(skip.map((id) => findCheck(checks, id, "--skip")));
  const chosen = checks.filter((check) =>
    (wanted.size === 0 || wanted.has(check)) && !unwanted.has(check)
  );
  if (chosen.length > 0) return chosen;
  throw new UsageError(
    "Cannot check anything: --only and --skip leave no check; give fewer of them",
  );
}

/** Throws a UsageError that names the nearest id. `flag` is what named it. */
export function findCheck(checks: readonly Check[], id: string, flag: string): Check {
  const found = checks.find((check) => check.id === id);
  if (found) return found;
  const ids = checks.map((check) => check.id);
  const hint = didYouMean(id, ids) || '; "doctor -o json" lists them all';
  throw new UsageError(`Cannot use ${flag} "${id}": there is no such check${hint}`);
}
