/** What upstream's kube-proxy answered to configurations: the form of the record. */

export interface Recorded {
  /** As it calls itself. */
  readonly program: string;
  readonly date: string;
  /** What it writes for a configuration that says nothing. */
  readonly base: string;
  readonly cases: Readonly<
    Record<
      string,
      { readonly error: string } | {
        /** Lines that are otherwise than in `base`, each behind the path of its section. */
        readonly changed: readonly string[];
      }
    >
  >;
}

export const recordedPath = new URL("./recorded/config/v1.37.0.json", import.meta.url).pathname;

/** The lines of a text that another does not have, with their sections. */
export function linesBeyond(text: string, base: string): string[] {
  const known = new Set(placedLines(base));
  const own = placedLines(text);
  const gone = [...known].filter((line) => !own.includes(line)).map((line) => `- ${line}`);
  return [...own.filter((line) => !known.has(line)).map((line) => `+ ${line}`), ...gone];
}

function placedLines(text: string): string[] {
  const sections: string[] = [];
  // An empty list and none are one configuration; upstream remembers which it read.
  return text.replaceAll(": []", ": null").split("\n").filter((line) => line.trim() !== "").map(
    (line) => {
      const depth = (line.length - line.trimStart().length) / 2;
      sections.length = Math.floor(depth);
      const placed = [...sections, line.trim()].join(" ");
      if (line.trimEnd().endsWith(":")) sections.push(line.trim());
      return placed;
    },
  );
}
