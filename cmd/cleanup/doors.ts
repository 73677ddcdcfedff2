/** The doors of modes as a command line asks for them: what belongs to somebody else, and whether connections may end first. */
import type { Clock } from "../../lib/base/clock.ts";
import { formatDuration } from "../../lib/base/duration.ts";
import type {
  DrainOptions,
  DrainProgress,
  ModeLeftovers,
  Removal,
  RemovalPlan,
  RemovalReport,
} from "../../lib/writers/leftovers.ts";
import type { Output } from "../command.ts";
import { ProgressLine } from "../run/progress_line.ts";
import type { LeftoverDoors } from "./clean_up.ts";

/** How long connections may take, and what happens then. */
export interface DrainRequest {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Cuts at the deadline what is left, instead of leaving it. */
  readonly cuts: boolean;
  readonly stderr: Output;
}

/** What is asked for. */
export interface DoorOptions {
  /** Ranges whose objects belong to somebody else. */
  readonly excluded: readonly string[];
  readonly drain?: DrainRequest;
}

/** The same doors, with removals that do what is asked for. */
export function doorsWith(doors: LeftoverDoors, options: DoorOptions): LeftoverDoors {
  return new Map([...doors].map(([mode, load]) => [mode, async () => {
    const door = await load();
    const removal = door.removalBut?.(options.excluded) ?? door.removal;
    return { ...door, removal: draining(removal, door, options) };
  }]));
}

/** The removal that waits for connections first. */
function draining(
  removal: Removal,
  { drain }: ModeLeftovers,
  { drain: request, excluded }: DoorOptions,
): Removal {
  if (!drain || !request) return removal;
  const { clock, cuts, stderr, timeoutMs } = request;
  return {
    plan: removal.plan,
    apply: async (kernel, plan, signal) => {
      const progress = new ProgressLine(stderr);
      const options: DrainOptions = {
        clock,
        deadlineMs: clock.monotonic() + timeoutMs,
        excluded,
        onProgress: (each) => progress.show(progressText(each)),
        signal,
      };
      try {
        const left = await drain(kernel, options);
        if (left.length === 0 || cuts) return await removal.apply(kernel, plan, signal);
        const after = await removal.plan(kernel, signal);
        return { removed: goneSince(plan, after), remaining: left };
      } finally {
        progress.clear();
      }
    },
  };
}

function goneSince(before: RemovalPlan, after: RemovalPlan): RemovalReport["removed"] {
  const left = new Set(after.steps.map((step) => JSON.stringify(step)));
  return before.steps.filter((step) => !left.has(JSON.stringify(step)));
}

function progressText({ connections, leftMs, servers }: DrainProgress): string {
  const left = formatDuration(Math.ceil(leftMs / 1000) * 1000);
  return `Waiting for ${connections} connections of ${servers} virtual servers to end, ${left} left`;
}
