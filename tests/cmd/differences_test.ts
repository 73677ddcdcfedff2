/** The table of docs/differences.md: each row once, each with what holds it. */
import assert from "node:assert/strict";

const root = new URL("../../", import.meta.url).pathname;

/** First and last column of each row. */
function rowsOf(page: string): readonly { readonly what: string; readonly held: string }[] {
  return page.split("\n").filter((line) => line.startsWith("| ")).slice(1).map((line) => {
    const columns = line.replace(/ \|$/, "").split(" | ");
    return { what: columns[0].slice(2), held: columns.at(-1) ?? "" };
  });
}

/** What a row names that is not there; a row that names nothing at all counts too. */
async function unheld(held: string): Promise<readonly string[]> {
  const names = [...held.matchAll(/`([^`]+)`/g)].map(([, name]) => name);
  const paths = names.map((name) =>
    name.replace(/^scripts\/bench (\w+)$/, "tests/bench/$1_bench.ts")
  );
  if (paths.length === 0) return ["no test"];
  const missing: string[] = [];
  for (const path of paths) await Deno.stat(root + path).catch(() => missing.push(path));
  return missing;
}

Deno.test("each difference from upstream is one row, and names a test that is there", async () => {
  const rows = rowsOf(await Deno.readTextFile(`${root}docs/differences.md`));
  assert.ok(rows.length > 50, `${rows.length} rows`);
  const words = rows.map(({ what }) => what);
  assert.deepEqual(words.filter((what, i) => words.indexOf(what) !== i), []);
  for (const { held, what } of rows) assert.deepEqual(await unheld(held), [], what);
});

Deno.test("a row without a test, or with one that is gone, is found", async () => {
  const page =
    "| what | test |\n|---|---|\n| a \\| b | c | `README.md` |\n| d | `tests/gone_test.ts` |\n";
  assert.deepEqual(rowsOf(page).map(({ held }) => held), ["`README.md`", "`tests/gone_test.ts`"]);
  assert.deepEqual(await unheld("`README.md`, `scripts/bench start`"), []);
  assert.deepEqual(await unheld("`tests/gone_test.ts`"), ["tests/gone_test.ts"]);
  assert.deepEqual(await unheld("none yet"), ["no test"]);
});
