/** What a conversion did, for people and for programs. */
import type { Conversion } from "./convert.ts";
import type { Step, StepKind } from "./plan.ts";

const kinds: readonly StepKind[] = ["kept", "moved", "default made explicit", "dropped", "lost"];

/** Whether something of the source has no effect any more. */
export function losesSomething({ steps }: Conversion): boolean {
  return steps.some(({ kind }) => kind === "lost");
}

/** A line for each field, and one that counts them. */
export function reportText(conversion: Conversion, source: string): string {
  const width = Math.max(...kinds.map((kind) => kind.length));
  const lines = conversion.steps.map((step) => `${step.kind.padEnd(width)}  ${describe(step)}`);
  const counts = kinds.map((kind) =>
    `${conversion.steps.filter((step) => step.kind === kind).length} ${kind}`
  );
  const summary = `${source}: ${conversion.from} -> ${conversion.to}: ${counts.join(", ")}`;
  return `${[...lines, summary].join("\n")}\n`;
}

/** The same as values. */
export function reportValues({ steps }: Conversion): readonly Readonly<Record<string, string>>[] {
  return steps.map(({ kind, from, to, value, why }) => ({ kind, from, to, value, why }));
}

/** `iptables.syncPeriod -> syncPeriod: 45s`, and why. */
function describe({ from, to, value, why }: Step): string {
  const way = [...new Set([from, to])].filter((path) => path !== "").join(" -> ");
  const shown = value === "" ? "" : `: ${value}`;
  return `${way}${shown}${why === "" ? "" : ` (${why})`}`;
}
