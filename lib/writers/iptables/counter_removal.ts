/** The kernel's counters that rules of this mode counted into: they outlive the rules. */
import { systemClock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { waitsForRulesMs } from "../../kernel/nf_tables/letting_go.ts";
import type { Kept, Removal, RemovalPlan, RemovalReport, RemovalStep } from "../leftovers.ts";
import { invalidCounter, localhostCounter } from "./names.ts";

const counters = [invalidCounter, localhostCounter];
const kind = "packet counter";
const stillUsed = "a rule that is not kube-proxy's counts into it";
/** The module that has them. */
const module = "nfnetlink_acct";

/** The removal, and after it that of the counters. One that somebody else's rule counts into stays. */
export function withCounters(removal: Removal): Removal {
  return {
    plan: async (kernel, signal) => {
      const plan = await removal.plan(kernel, signal);
      return { ...plan, steps: [...plan.steps, ...findCounters(kernel, plan)] };
    },
    apply: async (kernel, plan, signal) => {
      const others = plan.steps.filter((step) => step.kind !== kind);
      const report: RemovalReport = others.length === 0
        ? { removed: [], remaining: [] }
        : await removal.apply(kernel, { ...plan, steps: others }, signal);
      const gone = await removeCounters(kernel, plan, signal);
      return {
        removed: [...report.removed, ...gone.removed],
        remaining: [...report.remaining, ...gone.remaining],
        kept: gone.kept,
      };
    },
  };
}

/** Asking a kernel whose module is not loaded would load it; where rules were found, it is. */
function findCounters({ host, nfacct }: Kernel, { steps }: RemovalPlan): readonly RemovalStep[] {
  if (steps.length === 0 && !host.isModuleLoaded(module)) return [];
  try {
    return counters.filter((name) => nfacct.read(name) !== undefined).map((name) => ({
      action: "delete",
      backend: "nfacct",
      // They belong to no family: the rules of both count into them.
      family: "IPv4",
      kind,
      place: "",
      name,
    }));
  } catch {
    // A kernel without counters has none to remove.
    return [];
  }
}

async function removeCounters(
  { nfacct }: Kernel,
  { steps }: RemovalPlan,
  signal: AbortSignal,
): Promise<RemovalReport> {
  const removed: RemovalStep[] = [];
  const remaining: Kept[] = [];
  // A rule lets go of its counter a moment after it was removed.
  let waiting = steps.filter((each) => each.kind === kind);
  for (const waitMs of [0, ...waitsForRulesMs]) {
    if (waiting.length === 0) break;
    await systemClock.sleep(waitMs, signal);
    const busy: RemovalStep[] = [];
    for (const step of waiting) {
      try {
        signal.throwIfAborted();
        if (nfacct.remove(step.name)) removed.push(step);
        else busy.push(step);
      } catch (error) {
        const reason = signal.aborted ? "stopped before it was removed" : describeError(error);
        remaining.push({ what: `${kind} ${step.name}`, reason });
      }
    }
    waiting = busy;
  }
  const kept = waiting.map(({ name }) => ({ what: `${kind} ${name}`, reason: stillUsed }));
  return { removed, remaining, kept };
}
