/** Findings in few words. */
import type { Finding } from "../check.ts";

/** What goes with something that is not right. */
export interface ProblemOptions {
  readonly evidence: readonly string[];
  readonly advice: readonly string[];
  readonly unfixable?: boolean;
}

/** Something that is right, or good to know. */
export function fine(subject: string, ...evidence: readonly string[]): Finding {
  return { level: "pass", subject, evidence, advice: [] };
}

/** Something that is not right. */
export function problem(
  level: "warn" | "fail",
  subject: string,
  { advice, evidence, unfixable }: ProblemOptions,
): Finding {
  return { level, subject, evidence, advice, ...(unfixable && { unfixable: true as const }) };
}

/** Something that was not understood. */
export function untold(subject: string, ...evidence: readonly string[]): Finding {
  return { level: "untold", subject, evidence, advice: [] };
}

/** The first of many, and how many more there are. */
export function few(items: readonly string[], most = 8): readonly string[] {
  if (items.length <= most) return items;
  return [...items.slice(0, most), `and ${items.length - most} more`];
}

/** `1 Service`, `2 Services`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
