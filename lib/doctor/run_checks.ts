/**
 * Runs checks side by side. What a check has to know is read for it; where that cannot be had, the
 * check is not asked at all: `skip` and `unknown` are made here and nowhere else.
 */
import type { Clock } from "../base/clock.ts";
import { describeError } from "../base/errors.ts";
import type { Check, Finding, Given, Move } from "./check.ts";
import type { Fact, FactName, Facts } from "./fact.ts";

/** How a check ended. Only the first three say something of the node. */
export type Result = "pass" | "warn" | "fail" | "skip" | "unknown";

/** What came of one check. */
export interface CheckResult {
  readonly check: Check;
  readonly result: Result;
  readonly subject: string;
  readonly evidence: readonly string[];
  readonly advice: readonly string[];
  /** A `fail` that makes the verdict `no`. */
  readonly unfixable: boolean;
}

/** What running takes. */
export interface RunChecksOptions {
  readonly facts: Facts;
  readonly move: Move;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** No fact takes longer, but for those of checks that say so. */
const usualTimeoutMs = 32_000;

/** In the order of the checks, when the last of them has ended. Never throws. */
export function runChecks(
  checks: readonly Check[],
  options: RunChecksOptions,
): Promise<readonly CheckResult[]> {
  return Promise.all(checks.map((check) => runCheck(check, options)));
}

async function runCheck(check: Check, options: RunChecksOptions): Promise<CheckResult> {
  const elsewhere = whereNot(check, options.move);
  if (elsewhere !== undefined) {
    return { ...plain(check, "pass"), evidence: [`Does not apply: ${elsewhere}`] };
  }
  const { clock, signal } = options;
  const timeoutMs = check.timeoutMs ?? usualTimeoutMs;
  const stop = new AbortController();
  try {
    return await Promise.race([
      judge(check, options).catch((error) => untold(check, describeError(error))),
      clock.sleep(timeoutMs, stop.signal).then(() =>
        untold(check, `no answer in ${timeoutMs / 1_000} s`)
      ),
      aborted(signal, stop.signal).then(() => untold(check, "stopped before it ended")),
    ]);
  } finally {
    stop.abort();
  }
}

async function judge(check: Check, { facts, move }: RunChecksOptions): Promise<CheckResult> {
  const [needed, wanted] = await Promise.all([
    readAll(check.needs, facts),
    readAll(check.wants ?? [], facts),
  ]);
  const lacking = [...needed.values()].filter((fact) => fact.kind === "lacking");
  const unknown = [...needed.values()].filter((fact) => fact.kind === "unknown");
  if (unknown.length > 0) return missing(check, "unknown", unknown);
  if (lacking.length > 0) return missing(check, "skip", lacking);
  const values = [...needed].map(([name, fact]) =>
    [name, fact.kind === "value" ? fact.value : undefined] as const
  );
  // The names are those of the check, and `Fact` ties each to its value.
  const given = {
    facts: Object.fromEntries(values),
    tried: Object.fromEntries(wanted),
    move,
  } as unknown as Given<FactName, FactName>;
  return conclude(check, check.judge(given));
}

async function readAll(
  names: readonly FactName[],
  facts: Facts,
): Promise<ReadonlyMap<FactName, Fact<unknown>>> {
  return new Map(
    await Promise.all(names.map(async (name) => [name, await facts.read(name)] as const)),
  );
}

/** One result, the worst; its findings come first, and what was seen to be right comes last. */
function conclude(check: Check, findings: readonly Finding[]): CheckResult {
  const told = levels.flatMap((level) => findings.filter((finding) => finding.level === level));
  const [worst] = told;
  const about = told.filter(({ level }) => level !== "pass" || worst.level === "pass");
  return {
    check,
    result: worst === undefined ? "pass" : worst.level === "untold" ? "unknown" : worst.level,
    subject: [...new Set(about.map(({ subject }) => subject))].filter(Boolean).join("; "),
    evidence: told.flatMap(({ evidence }) => evidence),
    advice: [...new Set(about.flatMap(({ advice }) => advice))],
    unfixable: told.some(({ level, unfixable }) => level === "fail" && unfixable),
  };
}

/** The worst first. */
const levels = ["fail", "untold", "warn", "pass"] as const;

function missing(
  check: Check,
  result: "skip" | "unknown",
  facts: readonly Extract<Fact<unknown>, { kind: "lacking" | "unknown" }>[],
): CheckResult {
  return {
    ...plain(check, result),
    evidence: [...new Set(facts.map(({ because }) => because))],
    advice: [...new Set(facts.flatMap(({ advice = [] }) => advice))],
  };
}

function untold(check: Check, because: string): CheckResult {
  return { ...plain(check, "unknown"), evidence: [because] };
}

function plain(check: Check, result: Result): CheckResult {
  return { check, result, subject: "", evidence: [], advice: [], unfixable: false };
}

/** Why a check does not apply to this move; undefined where it does. */
function whereNot({ where = {} }: Check, move: Move): string | undefined {
  const { from, fromGiven, toProxy } = where;
  if (toProxy !== undefined && toProxy !== move.toProxy) {
    return toProxy === "this" ? "only to this program" : "only to stock kube-proxy";
  }
  if (fromGiven && !move.fromGiven) return "only with --from";
  if (from && move.from !== undefined && !from.includes(move.from)) {
    return `only from ${from.join(" or ")}`;
  }
  return undefined;
}

function aborted(signal: AbortSignal, until: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const options = { once: true, signal: until };
    signal.addEventListener("abort", () => resolve(), options);
  });
}
