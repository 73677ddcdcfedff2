/** The line of docs/doctor.md that folds the answers of many nodes, run by the program that it names. */
import assert from "node:assert/strict";

const root = new URL("../../", import.meta.url).pathname;

async function shownLine(): Promise<string> {
  const page = await Deno.readTextFile(`${root}docs/doctor.md`);
  const line = page.split("\n").find((each) => each.startsWith("jq "));
  return line ?? assert.fail("docs/doctor.md shows no line for jq");
}

/** The report of a node, as `doctor -o json` writes it, with that answer. */
async function report(node: string, canMove: boolean | null, because: readonly string[]) {
  const golden = await Deno.readTextFile(`${root}tests/golden/doctor/report.json`);
  const whole = JSON.parse(golden);
  return JSON.stringify({ ...whole, node, verdict: { ...whole.verdict, canMove, because } });
}

Deno.test("the reports of many nodes fold into one list by their answers", async () => {
  const folder = await Deno.makeTempDir({ prefix: "kpt-fold-" });
  try {
    const nodes: readonly (readonly [string, boolean | null, readonly string[]])[] = [
      ["a", false, ["KRN03"]],
      ["b", true, []],
      ["c", false, ["CO01", "KRN03"]],
      ["d", null, ["NET05"]],
    ];
    for (const node of nodes) {
      await Deno.writeTextFile(`${folder}/${node[0]}.json`, await report(...node));
    }
    const { code, stdout, stderr } = await new Deno.Command("sh", {
      args: ["-c", await shownLine()],
      cwd: folder,
    }).output();
    assert.equal(code, 0, new TextDecoder().decode(stderr));
    assert.deepEqual(JSON.parse(new TextDecoder().decode(stdout)), [
      { canMove: null, nodes: ["d"], because: ["NET05"] },
      { canMove: false, nodes: ["a", "c"], because: ["CO01", "KRN03"] },
      { canMove: true, nodes: ["b"], because: [] },
    ]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
