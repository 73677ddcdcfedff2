/** What checks tell, word by word: the cases of each group as text that people review. */
import { checks } from "../../../lib/doctor/checks.ts";
import { assertGolden } from "../writers/golden.ts";
import { allCases } from "./cases.ts";
import type { CheckCase } from "./check_cases.ts";
import { runCase } from "./run_case.ts";

const groups = [...new Set(checks.map(({ id }) => groupOf(id)))];

for (const group of groups) {
  Deno.test(`checks ${group} tell what was reviewed`, async () => {
    const texts: string[] = [];
    for (const check of checks.filter(({ id }) => groupOf(id) === group)) {
      const cases = allCases.find(({ id }) => id === check.id)?.cases ?? [];
      texts.push(`${check.id} ${check.title}`);
      for (const each of cases.filter(tellsOfNode)) {
        const { advice, evidence, result, subject } = await runCase(check, each);
        texts.push(
          `  ${each.name}: ${result}${subject === "" ? "" : ` of ${subject}`}`,
          ...[...evidence, ...advice.map((text) => `do: ${text}`)].map((text) => `    ${text}`),
        );
      }
    }
    await assertGolden(`doctor/words/${group}.txt`, `${texts.join("\n")}\n`);
  });
}

/** `KRN01` is one of `KRN`. */
function groupOf(id: string): string {
  return id.replace(/\d+$/, "");
}

/** The words of the two others are the same for every check. */
function tellsOfNode({ result }: CheckCase): boolean {
  return result !== "unknown" && result !== "skip";
}
