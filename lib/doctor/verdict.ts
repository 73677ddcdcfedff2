/** Whether this node can move, out of what the checks found. */
import type { CheckResult } from "./run_checks.ts";

/** The answer to the one question of doctor. */
export interface Verdict {
  /** Null where it cannot be told. */
  readonly canMove: boolean | null;
  /** How many checks want something to be changed first. */
  readonly changes: number;
  /** The checks that decided: those that forbid it, that could not tell, or that want a change. */
  readonly because: readonly string[];
  /** The rules were not tried, since nobody wanted that. */
  readonly unrehearsed: boolean;
}

/** What these could not tell leaves the verdict open. */
const decisive: ReadonlySet<string> = new Set(["KRN02", "KRN03", "NET05", "DRY01"]);
const rights = "NET05";

/** Warnings never change it. `rehearsal` says whether a rehearsal was asked for. */
export function verdictOf(
  results: readonly CheckResult[],
  { rehearsal }: { readonly rehearsal: boolean },
): Verdict {
  const fails = results.filter(({ result }) => result === "fail");
  const forbidden = fails.filter(({ unfixable }) => unfixable);
  const open = results.filter((each) => isOpen(each, rehearsal));
  const fixable = fails.filter(({ unfixable }) => !unfixable);
  const about = (deciding: readonly CheckResult[]) => deciding.map(({ check }) => check.id);
  const rest = { changes: fixable.length, unrehearsed: !rehearsal };
  if (forbidden.length > 0) return { ...rest, canMove: false, because: about(forbidden) };
  if (open.length > 0) return { ...rest, canMove: null, because: about(open) };
  return { ...rest, canMove: true, because: about(fixable) };
}

function isOpen({ check: { id }, result }: CheckResult, rehearsal: boolean): boolean {
  if (!decisive.has(id) || id === "DRY01" && !rehearsal) return false;
  return result === "skip" || result === "unknown" || id === rights && result === "fail";
}

/** `yes, after 2 changes, not rehearsed`. */
export function describeVerdict(verdict: Verdict, results: readonly CheckResult[]): string {
  const { because, canMove, changes, unrehearsed } = verdict;
  const reasons = results.filter(({ check }) => because.includes(check.id))
    .map(({ check, evidence, subject }) => `${check.id}: ${evidence[0] ?? subject}`).join("; ");
  if (canMove === false) return `no, because ${reasons}`;
  if (canMove === null) return `cannot tell, because ${reasons}`;
  const after = changes === 0 ? "yes" : `yes, after ${changes} change${changes === 1 ? "" : "s"}`;
  return unrehearsed ? `${after}, not rehearsed` : after;
}

/** 0: nothing failed; 1: something did; 2: nothing that counts could be told. */
export function exitCodeOf(
  { canMove }: Verdict,
  { results, failOnWarn }: {
    readonly results: readonly CheckResult[];
    readonly failOnWarn: boolean;
  },
): number {
  const has = (...wanted: CheckResult["result"][]) =>
    results.some(({ result }) => wanted.includes(result));
  if (has("fail") || failOnWarn && has("warn")) return 1;
  return canMove === null || !has("pass", "warn") ? 2 : 0;
}
