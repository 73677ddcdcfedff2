/**
 * Removes what modes left: each is planned, told and done, and read again, one after the other. What
 * fails keeps no other from being removed.
 */
import { describeError } from "../../lib/base/errors.ts";
import type { Kernel } from "../../lib/kernel/kernel.ts";
import type {
  Kept,
  ModeLeftovers,
  Removal,
  RemovalPlan,
  RemovalReport,
} from "../../lib/writers/leftovers.ts";

/** What became of one mode's leftovers. */
export interface ModeOutcome {
  readonly mode: string;
  readonly plan: RemovalPlan;
  /** Nothing was removed where nobody was to do so. */
  readonly report: RemovalReport;
}

/** The doors of modes, by name. */
export type LeftoverDoors = ReadonlyMap<string, () => Promise<ModeLeftovers>>;

/** What a cleanup works with, and whom it tells. */
export interface CleanUpOptions {
  readonly doors: LeftoverDoors;
  readonly kernel: Kernel;
  /** Plans alone. */
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
  /** Is told of each mode before it is looked for. */
  readonly onLook: (mode: string) => void;
  /** Is told of each plan before anything of it is done. */
  readonly onPlan: (mode: string, plan: RemovalPlan) => void;
}

const manySteps = 10_000;

const nothing: RemovalPlan = { steps: [], kept: [], remaining: [] };

/** Cleans up after these modes, in their order. Once the signal aborts it says what was not done. */
export async function cleanUp(
  modes: readonly string[],
  options: CleanUpOptions,
): Promise<readonly ModeOutcome[]> {
  const outcomes: ModeOutcome[] = [];
  for (const mode of modes) outcomes.push(await cleanUpMode(mode, options));
  return outcomes;
}

/** Whether anything of these modes is left that should not be. */
export function isDone(outcomes: readonly ModeOutcome[]): boolean {
  return outcomes.every(({ report }) => report.remaining.length === 0);
}

async function cleanUpMode(mode: string, options: CleanUpOptions): Promise<ModeOutcome> {
  const { doors, dryRun, kernel, onLook, onPlan, signal } = options;
  const failed = (plan: RemovalPlan, error: unknown): ModeOutcome => ({
    mode,
    plan,
    report: { removed: [], remaining: [...plan.remaining, remainder(mode, error, signal)] },
  });
  let removal: Removal | undefined;
  let plan: RemovalPlan;
  try {
    signal.throwIfAborted();
    onLook(mode);
    removal = (await doors.get(mode)?.())?.removal;
    plan = await removal?.plan(kernel, signal) ?? nothing;
  } catch (error) {
    return failed(nothing, error);
  }
  onPlan(mode, plan);
  // What was read of a large node is garbage by now, and as much is read again.
  if (plan.steps.length > manySteps) kernel.self.collectGarbage();
  const { remaining, steps } = plan;
  if (dryRun || !removal || steps.length === 0) {
    return { mode, plan, report: { removed: [], remaining } };
  }
  try {
    const report = await removal.apply(kernel, plan, signal);
    return { mode, plan, report: { ...report, remaining: [...remaining, ...report.remaining] } };
  } catch (error) {
    return failed(plan, error);
  }
}

function remainder(mode: string, error: unknown, signal: AbortSignal): Kept {
  const reason = signal.aborted ? "stopped before it was done" : describeError(error);
  return { what: `whatever ${mode} mode left`, reason };
}
