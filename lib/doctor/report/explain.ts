/** What one check is about: `--explain ID`. */
import type { Check } from "../check.ts";
import { wrap } from "./wrap.ts";

const width = 100;

/** What, why, how it looks, and where to read on. */
export function explain(check: Check): string {
  const part = (head: string, text: string) => wrap(text, { width, indent: "", head });
  return [
    `${check.id} ${check.title} (${check.group})`,
    "",
    ...part("Why:   ", check.why),
    ...part("Looks: ", check.looks),
    ...part("Gives: ", [...check.results, "skip", "unknown"].join(", ")),
    ...check.links.map((link, i) => `${i === 0 ? "Links: " : "       "}${link}`),
  ].map((line) => `${line}\n`).join("");
}
