/** The kernel's counters that rules of this mode counted into: they outlive the rules. */
import { describeError } from "../../base/errors.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { untilRulesLetGo } from "../../kernel/nf_tables/letting_go.ts";
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
  // False where it may be tried again: a rule still counts into it.
  const remove = (step: RemovalStep): boolean => {
    try {
      signal.throwIfAborted();
      const isGone = nfacct.remove(step.name);
      if (isGone) removed.push(step);
      return isGone;
    } catch (error) {
      const reason = signal.aborted ? "stopped before it was removed" : describeError(error);
      remaining.push({ what: `${kind} ${step.name}`, reason });
      return true;
    }
  };
  const used = await untilRulesLetGo(
    steps.filter((each) => each.kind === kind),
    (waiting) => waiting.filter((step) => !remove(step)),
    signal,
  );
  const kept = used.map(({ name }) => ({ what: `${kind} ${name}`, reason: stillUsed }));
  return { removed, remaining, kept };
}
