import assert from "node:assert/strict";
import { checks } from "../../../lib/doctor/checks.ts";
import { doctorPage } from "./page.ts";
import { placesOf, showings } from "./showings.ts";

const url = new URL("../../../docs/doctor.md", import.meta.url);

Deno.test("docs/doctor.md is what the list of checks says", async () => {
  const page = doctorPage();
  if (Deno.env.get("UPDATE_GOLDEN") === "1") return await Deno.writeTextFile(url, page);
  assert.equal(page, await Deno.readTextFile(url), "docs/doctor.md differs; see deno task golden");
});

/** Those whose results tables alone do not prove. */
const forReal = /^(KRN0[1-7]|CT\d+|NET\d+|IPV\d+|NP0[134]|CO0[1-4]|CO1[56]|DRY01)$/;

Deno.test("what checks say of kernels was shown by kernels", () => {
  const untold = checks.filter(({ id, results }) =>
    forReal.test(id) && results.every((result) => placesOf(id, result).length === 0)
  );
  assert.deepEqual(untold.map(({ id }) => id), []);
});

Deno.test("tests show only results that their checks can give", () => {
  for (const [name, { results }] of Object.entries(showings)) {
    for (const [result, ids] of Object.entries(results)) {
      for (const id of ids) {
        const check = checks.find((each) => each.id === id);
        assert.ok(check, `${name}: there is no ${id}`);
        const possible: readonly string[] = [...check.results, "skip", "unknown"];
        assert.ok(possible.includes(result), `${name}: ${id} never is a ${result}`);
      }
    }
  }
});
