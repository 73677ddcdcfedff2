/** The lines of the log that docs/operating.md explains are lines that the program can write. */
import assert from "node:assert/strict";

const root = new URL("../../", import.meta.url).pathname;

/** The first column of the table below the heading, as text up to what differs from line to line. */
function shownLogLines(page: string): string[] {
  const section = page.split("## What the log says\n")[1]?.split("\n## ")[0] ?? "";
  return [...section.matchAll(/^\| `([^`…]+)/gm)].map(([, line]) => line.trimEnd());
}

async function sourceText(folder: string): Promise<string> {
  const texts: string[] = [];
  for await (const { isDirectory, name } of Deno.readDir(folder)) {
    if (isDirectory) texts.push(await sourceText(`${folder}/${name}`));
    else if (name.endsWith(".ts")) texts.push(await Deno.readTextFile(`${folder}/${name}`));
  }
  return texts.join("\n");
}

/** Those that stand at the beginning of no text of the sources. */
function unknownLines(lines: readonly string[], sources: string): string[] {
  return lines.filter((line) => !sources.includes(`"${line}`) && !sources.includes(`\`${line}`));
}

Deno.test("every line of the log that docs/operating.md explains is in the sources", async () => {
  const lines = shownLogLines(await Deno.readTextFile(`${root}docs/operating.md`));
  assert.ok(lines.length >= 9, `only ${lines.length} lines were found`);
  const sources = await sourceText(`${root}lib`) + await sourceText(`${root}cmd`);
  assert.deepEqual(unknownLines(lines, sources), []);
});

Deno.test("a line that the program does not write is found", () => {
  const page =
    "## What the log says\n| `Gone …` | x |\n| `In sync` | y |\n\n## More\n| `Other` | z |\n";
  const lines = shownLogLines(page);
  assert.deepEqual(lines, ["Gone", "In sync"]);
  assert.deepEqual(unknownLines(lines, 'info("In sync")'), ["Gone"]);
});
