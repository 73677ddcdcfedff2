/** All that a run of doctor has to tell, however it is told. */
import type { CausedModules } from "../caused_modules.ts";
import type { Move } from "../check.ts";
import type { RehearsalReport } from "../rehearsal/report.ts";
import type { CheckResult } from "../run_checks.ts";
import type { Verdict } from "../verdict.ts";

/** What was found, and about which node. */
export interface Outcome {
  readonly node: string;
  readonly kernel: string;
  readonly move: Move;
  /** What told the mode that the node comes from; empty where nothing did. */
  readonly fromWhere: string;
  readonly verdict: Verdict;
  readonly results: readonly CheckResult[];
  /** Undefined where none took place. */
  readonly rehearsal: RehearsalReport | undefined;
  /** What looking made the kernel load. */
  readonly modules: CausedModules;
}
