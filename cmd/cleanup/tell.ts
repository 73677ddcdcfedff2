/** A cleanup and its words, for `cleanup` and for the flag `--cleanup`. */
import type { Kernel } from "../../lib/kernel/kernel.ts";
import type { Output } from "../command.ts";
import { ProgressLine } from "../run/progress_line.ts";
import { cleanUp, type LeftoverDoors, type ModeOutcome } from "./clean_up.ts";
import { outcomesJson, outcomeText, planText } from "./report.ts";

/** What is removed, and how it is told. */
export interface TellOptions {
  readonly doors: LeftoverDoors;
  readonly kernel: Kernel;
  readonly dryRun: boolean;
  readonly format: "text" | "json";
  /** Each thing by name, however many there are. */
  readonly each: boolean;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly signal: AbortSignal;
}

/** Cleans up after these modes, and says first what is removed and then what came of it. */
export async function cleanUpAndTell(
  modes: readonly string[],
  { doors, dryRun, each, format, kernel, signal, stderr, stdout }: TellOptions,
): Promise<readonly ModeOutcome[]> {
  const progress = new ProgressLine(stderr);
  const outcomes = await cleanUp(modes, {
    doors,
    kernel,
    dryRun,
    signal,
    onLook: (mode) => progress.show(`Looking for what ${mode} mode left`),
    onPlan: (mode, plan) => {
      progress.clear();
      if (format === "text") stdout.write(planText(mode, plan, { dryRun, each }));
      if (!dryRun && plan.steps.length > 0) {
        progress.show(`Removing what ${mode} mode left, and reading again`);
      }
    },
  });
  progress.clear();
  if (format === "json") stdout.write(outcomesJson(outcomes, dryRun));
  else for (const outcome of outcomes) stdout.write(outcomeText(outcome, { dryRun }));
  return outcomes;
}
