/** What one check is about: `--explain ID`. */
import type { Check } from "../check.ts";
import { type Difference, differences } from "../differences.ts";
import { wrap } from "./wrap.ts";

const width = 100;

/** What, why, how it looks, what differs between the modes, and where to read on. */
export function explain(check: Check): string {
  const part = (head: string, text: string) => wrap(text, { width, indent: "", head });
  return [
    `${check.id} ${check.title} (${check.group})`,
    "",
    ...part("Why:   ", check.why),
    ...part("Looks: ", check.looks),
    ...part("Gives: ", [...check.results, "skip", "unknown"].join(", ")),
    ...differences.filter(({ checks }) => checks.includes(check.id)).flatMap(differenceLines),
    ...check.links.map((link, i) => `${i === 0 ? "Links: " : "       "}${link}`),
  ].map((line) => `${line}\n`).join("");
}

function differenceLines({ iptables, ipvs, nftables, topic }: Difference): readonly string[] {
  const modes = Object.entries({ iptables, ipvs, nftables });
  return [
    ...wrap(`What changes: ${topic}`, { width, indent: "" }),
    ...modes.flatMap(([mode, text]) =>
      wrap(text, { width, indent: "  ", head: `${mode}:`.padEnd(11) })
    ),
  ];
}
