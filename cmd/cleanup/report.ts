/** What a cleanup says: to people as lines, to programs as one document of JSON. */
import type { RemovalPlan, RemovalStep } from "../../lib/writers/leftovers.ts";
import type { ModeOutcome } from "./clean_up.ts";

/** As many things of a kind in one place are named; more are counted. */
const mostNamed = 20;

export interface PlanTextOptions {
  readonly dryRun: boolean;
  /** Each thing by name, however many there are. */
  readonly each: boolean;
}

/** What will be done, before it is. */
export function planText(mode: string, plan: RemovalPlan, options: PlanTextOptions): string {
  const { kept, remaining, remarks = [], steps } = plan;
  const isEmpty = steps.length === 0 && remaining.length === 0;
  const verb = options.dryRun ? "would be removed" : "to remove";
  const head = isEmpty ? "nothing to clean" : `${many(steps.length, "thing")} ${verb}`;
  const lines = [
    `${mode} mode: ${head}`,
    ...remarks.map((remark) => `  ${remark}`),
    ...stepLines(mode, steps, options.each).map((line) => `  ${line}`),
    ...kept.map(({ reason, what }) => `  keep ${what}: ${reason}`),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

/** What came of it, once it was read again. */
export function outcomeText(
  { mode, plan, report }: ModeOutcome,
  { dryRun }: Pick<PlanTextOptions, "dryRun">,
): string {
  const { kept = [], remaining, removed } = report;
  const remains = remaining.map(({ reason, what }) => `${mode} mode: ${what} remains: ${reason}\n`);
  if (dryRun && plan.steps.length > 0) {
    return [`${mode} mode: nothing was changed (dry run)\n`, ...remains].join("");
  }
  const done = removed.length > 0
    ? [`${mode} mode: removed ${many(removed.length, "thing")}\n`]
    : [];
  const keeps = kept.map(({ reason, what }) => `${mode} mode: kept ${what}: ${reason}\n`);
  return [...done, ...keeps, ...remains].join("");
}

/** The same facts for programs. Fields are added under the same schemaVersion, never changed. */
export function outcomesJson(outcomes: readonly ModeOutcome[], dryRun: boolean): string {
  const modes = outcomes.map(({ mode, plan, report }) => ({
    mode,
    planned: plan.steps,
    removed: report.removed,
    kept: [...plan.kept, ...report.kept ?? []],
    remaining: report.remaining,
    remarks: plan.remarks ?? [],
  }));
  return `${JSON.stringify({ schemaVersion: 1, dryRun, modes }, null, 2)}\n`;
}

/** The JSON of a cleanup that was refused as a whole. */
export function refusalJson(reason: string, dryRun: boolean): string {
  return `${JSON.stringify({ schemaVersion: 1, dryRun, refused: reason, modes: [] }, null, 2)}\n`;
}

/** A line a thing, or one for many of a kind in one place. */
function stepLines(
  mode: string,
  steps: readonly RemovalStep[],
  each: boolean,
): readonly string[] {
  const groups = new Map<string, RemovalStep[]>();
  for (const step of steps) {
    const { action, backend, family, kind, place } = step;
    const key = JSON.stringify([action, backend, family, kind, place]);
    const group = groups.get(key);
    if (group) group.push(step);
    else groups.set(key, [step]);
  }
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    const name = (what: string) => `${first.action} ${what}${whereOf(mode, first)}`;
    return each || group.length <= mostNamed
      ? group.map((step) => name(`${step.kind} ${step.name}`))
      : [name(many(group.length, first.kind))];
  });
}

/** ` of table nat (nft, IPv4)`; a mode with one place needs no name for it. */
function whereOf(mode: string, { backend, family, place }: RemovalStep): string {
  const engine = backend === mode ? family : `${backend}, ${family}`;
  return `${place === "" ? "" : ` of ${place}`} (${engine})`;
}

function many(count: number, what: string): string {
  return `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
}
