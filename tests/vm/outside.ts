/** What guest tests tell beside how they end: lines of JSON on the console, each kind with a mark before it. */

/** `recorded`: for a file of the checkout. `measured`: for whoever reads what a run prints. */
export type TellingKind = "recorded" | "measured";

/** The test runner keeps what tests print for itself, and may be in the middle of a line. */
const console = "/dev/ttyS0";

/** Inside: tells it. */
export function tellOutside(kind: TellingKind, value: unknown): void {
  Deno.writeTextFileSync(console, `\n${kind}: ${JSON.stringify(value)}\n`);
}

/** Outside: what a test told, in its order. */
export function toldBy<T>(output: string, kind: TellingKind): readonly T[] {
  const mark = `${kind}: `;
  return output.split("\n").filter((line) => line.startsWith(mark))
    .map((line): T => JSON.parse(line.slice(mark.length)));
}
