/** A run of doctor for programs. Fields are added under the same schemaVersion, never changed. */
import type { Outcome } from "./outcome.ts";

/** One document, with a final newline. */
export function outcomeJson(outcome: Outcome): string {
  const { kernel, move, node, rehearsal, results, verdict } = outcome;
  const { because, canMove, changes } = verdict;
  const document = {
    schemaVersion: 1,
    node,
    kernel,
    from: move.from ?? null,
    to: move.to,
    verdict: { canMove, changes, because },
    checks: results.map(({ advice, check, evidence, result, subject }) => ({
      id: check.id,
      group: check.group,
      title: check.title,
      result,
      subject,
      evidence,
      why: check.why,
      advice,
    })),
    rehearsal: rehearsal ?? null,
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}
