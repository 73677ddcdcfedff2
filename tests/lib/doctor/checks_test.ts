/** Every check by its table of cases, and that no check and no result is without one. */
import assert from "node:assert/strict";
import { checks } from "../../../lib/doctor/checks.ts";
import { allCases } from "./cases.ts";
import { runCase } from "./run_case.ts";

for (const { cases, id } of allCases) {
  Deno.test(`${id} by its cases`, async (t) => {
    const check = checks.find((each) => each.id === id);
    assert.ok(check, "there is no such check");
    for (const each of cases) {
      await t.step(each.name, async () => {
        const ran = await runCase(check, each);
        assert.equal(ran.result, each.result, ran.evidence.join("; "));
        for (const said of each.says ?? []) {
          const isSaid = ran.evidence.some((text) =>
            typeof said === "string" ? text === said : said.test(text)
          );
          assert.ok(isSaid, `${said} is not among: ${ran.evidence.join(" | ")}`);
        }
        if (each.advice) assert.deepEqual(ran.advice, each.advice);
        assert.equal(ran.unfixable, each.unfixable ?? false);
        if (ran.result === "fail" || ran.result === "warn") {
          assert.notEqual(ran.subject, "", "it does not say where it looked");
        }
      });
    }
  });
}

for (const { id, needs, results } of checks) {
  Deno.test(`${id} has a case for each of its results`, () => {
    const cases = allCases.find((each) => each.id === id)?.cases ?? [];
    const shown = new Set(cases.map(({ result }) => result));
    const wanted = [...results, ...(needs.length > 0 ? ["unknown"] as const : [])];
    assert.deepEqual(wanted.filter((each) => !shown.has(each)), []);
    const possible = new Set<string>([...results, "skip", "unknown"]);
    assert.deepEqual([...shown].filter((each) => !possible.has(each)), []);
  });
}

Deno.test("checks have ids, titles and words that can be told", () => {
  assert.equal(new Set(checks.map(({ id }) => id)).size, checks.length);
  assert.equal(new Set(checks.map(({ title }) => title)).size, checks.length);
  assert.equal(new Set(allCases.map(({ id }) => id)).size, allCases.length);
  for (const { id, links, looks, title, why } of checks) {
    assert.match(id, /^[A-Z]{2,3}\d\d$/);
    assert.match(title, /^[a-z0-9]+([-_][a-z0-9]+)*$/);
    for (const text of [why, looks]) assert.match(text, /^[A-Z"].*[.)]$/, `${id}: ${text}`);
    for (const link of links) assert.ok(URL.canParse(link), `${id}: ${link}`);
  }
});
