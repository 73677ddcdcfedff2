/**
 * Kernel settings that a mode changed: they go back to what they were only where a proxy wrote that
 * down, and only while they still are what it made of them.
 */
import { describeError } from "../../lib/base/errors.ts";
import type { RecordedSetting } from "../../lib/record/proxy_record.ts";
import type { Kernel } from "../../lib/kernel/kernel.ts";
import type {
  Kept,
  ModeLeftovers,
  ModeSetting,
  Removal,
  RemovalPlan,
  RemovalReport,
  RemovalStep,
} from "../../lib/writers/leftovers.ts";

/** What is known of the settings of this node. */
export interface SettingsKnowledge {
  readonly recorded: readonly RecordedSetting[];
  /** Why a setting is needed as it is by whoever runs here in another mode; undefined where it is not. */
  neededFor(setting: string): string | undefined;
  /** Is told what went back, so that nobody takes it for changed any more. */
  readonly onPutBack: (settings: readonly string[]) => void;
}

/** The removal of a mode, and with it what its settings were before. */
export function removalWithSettings(
  { removal, settings = [] }: ModeLeftovers,
  { knowledge, mode }: { readonly mode: string; readonly knowledge: SettingsKnowledge },
): Removal {
  if (settings.length === 0) return removal;
  return {
    plan: async (kernel, signal) => {
      const plan = await removal.plan(kernel, signal);
      const { kept, remarks, writes } = judge(settings, { kernel, knowledge, mode });
      return {
        ...plan,
        steps: [...plan.steps, ...writes.map(({ step }) => step)],
        kept: [...plan.kept, ...kept],
        // A node without anything of the mode need not hear of its settings.
        remarks: [...plan.remarks ?? [], ...plan.steps.length > 0 ? remarks : []],
      };
    },
    apply: async (kernel, plan, signal) => {
      const others = plan.steps.filter((each) => !isSetting(each));
      const done: RemovalReport = others.length === 0
        ? { removed: [], remaining: [] }
        : await removal.apply(kernel, { ...plan, steps: others }, signal);
      const report = putBack(plan, { kernel, knowledge, mode, settings, signal });
      return {
        ...done,
        removed: [...done.removed, ...report.removed],
        remaining: [...done.remaining, ...report.remaining],
      };
    },
  };
}

/** A setting that goes back, as a step and as what is written. */
interface SettingWrite {
  readonly step: RemovalStep;
  readonly setting: string;
  readonly value: string;
}

interface Judgement {
  readonly writes: readonly SettingWrite[];
  readonly kept: readonly Kept[];
  readonly remarks: readonly string[];
}

interface JudgeContext {
  readonly kernel: Kernel;
  readonly knowledge: SettingsKnowledge;
  readonly mode: string;
}

function judge(
  settings: readonly ModeSetting[],
  { kernel, knowledge, mode }: JudgeContext,
): Judgement {
  const writes: SettingWrite[] = [];
  const kept: Kept[] = [];
  const remarks: string[] = [];
  for (const each of settings) {
    const { family, setting, usual, value } = each;
    const name = setting.replaceAll("/", ".");
    const now = kernel.sysctl.read(setting);
    const recorded = knowledge.recorded.find((known) => known.setting === setting);
    if (now === undefined || now === recorded?.before) continue;
    const reason = knowledge.neededFor(setting) ?? each.neededBy?.(kernel);
    if (!recorded) {
      if (now === value) remarks.push(unknown({ name, now, usual, mode }));
    } else if (reason !== undefined) {
      kept.push({ what: `sysctl ${name}=${now}`, reason });
    } else if (now === recorded.after) {
      const step = settingStep(family, `${name}=${recorded.before}`);
      writes.push({ step, setting, value: recorded.before });
    } else {
      const set =
        `${mode} mode set it to ${recorded.after}, and somebody else to ${now} since then`;
      kept.push({ what: `sysctl ${name}=${now}`, reason: set });
    }
  }
  return { writes, kept, remarks };
}

function unknown(
  { mode, name, now, usual }: Readonly<Record<"mode" | "name" | "now" | "usual", string>>,
): string {
  return `${name} stays ${now}, as ${mode} mode sets it: what it was before is not known; ` +
    `"sysctl -w ${name}=${usual}" where nothing else needs it`;
}

/** What was planned and still is right. */
function putBack(
  plan: RemovalPlan,
  { settings, signal, ...context }: JudgeContext & {
    readonly settings: readonly ModeSetting[];
    readonly signal: AbortSignal;
  },
): RemovalReport {
  const { kernel, knowledge } = context;
  const planned = plan.steps.filter(isSetting);
  const removed: RemovalStep[] = [];
  const remaining: Kept[] = [];
  const back: string[] = [];
  for (const { setting, step, value } of judge(settings, context).writes) {
    if (!planned.some(({ name }) => name === step.name)) continue;
    try {
      signal.throwIfAborted();
      kernel.sysctl.write(setting, value);
      back.push(setting);
      removed.push(step);
    } catch (error) {
      const reason = signal.aborted ? "stopped before it was put back" : describeError(error);
      remaining.push({ what: `sysctl ${setting.replaceAll("/", ".")}`, reason });
    }
  }
  if (back.length > 0) knowledge.onPutBack(back);
  return { removed, remaining };
}

function isSetting({ kind }: RemovalStep): boolean {
  return kind === "sysctl";
}

function settingStep(family: RemovalStep["family"], name: string): RemovalStep {
  return { action: "set", backend: "kernel", family, kind: "sysctl", place: "", name };
}
