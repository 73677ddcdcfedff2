/** What is wrong with a configuration, and where: collected, never thrown one by one. */
import type { Place } from "../base/yaml.ts";

/** Of these, only the kinds in `lenientKinds` are ever let through. */
export type ProblemKind =
  | "file"
  | "syntax"
  | "document"
  | "unknown-field"
  | "duplicate-field"
  | "extra-document"
  | "type"
  | "value";

/** What v1alpha1, and v1alpha2 with `configHardFail: false`, reads past with a warning. */
export const lenientKinds: ReadonlySet<ProblemKind> = new Set([
  "unknown-field",
  "duplicate-field",
  "extra-document",
]);

export interface Problem {
  readonly kind: ProblemKind;
  readonly severity: "error" | "warning";
  readonly place: Place;
  /** As the file spells it, such as `iptables.masqueradeBit`; empty for the file as a whole. */
  readonly path: string;
  /** What stands there, where that helps. */
  readonly value?: string;
  /** The condition that is not met, or what is wrong: a clause without a full stop. */
  readonly rule: string;
  /** What to do: a clause, or empty. */
  readonly hint: string;
  /** Upstream's path of the field, empty where it has none. */
  readonly upstream: string;
}

/** Thrown by whoever cannot go on: the message holds every problem, one a line. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly problems: readonly Problem[];

  constructor(message: string, problems: readonly Problem[]) {
    super(message);
    this.problems = problems;
  }
}

/** `proxy.yaml:3:7: iptables.masqueradeBit: must be within the range [0, 31], not 32`. */
export function describeProblem(problem: Problem): string {
  const path = problem.path === "" ? "" : `${shortened(problem.path, 160)}: `;
  const value = problem.value === undefined ? "" : `, not ${shortened(problem.value, 160)}`;
  const hint = problem.hint === "" ? "" : `; ${problem.hint}`;
  const upstream = problem.upstream === "" ? "" : ` (${problem.upstream})`;
  return `${describePlace(problem.place)}: ${path}${
    shortened(problem.rule, 400)
  }${value}${hint}${upstream}`;
}

/** `proxy.yaml:3:7`; line 0 stands for a place that no file has. */
export function describePlace({ source, line, column }: Place): string {
  return line === 0 ? source : `${source}:${line}:${column}`;
}

/** By file, then line, then column; equal places keep their order. */
export function sortProblems(problems: readonly Problem[]): Problem[] {
  const sources = [...new Set(problems.map(({ place }) => place.source))];
  const rank = ({ place }: Problem) => sources.indexOf(place.source);
  return problems.toSorted((left, right) =>
    rank(left) - rank(right) || left.place.line - right.place.line ||
    left.place.column - right.place.column
  );
}

/** A value for a message: quoted when it is text, cut when it is long. */
export function showValue(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return shortened(text, 80);
}

/** Names come from the file, and may be as long as the file. */
function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 3)}...`;
}
