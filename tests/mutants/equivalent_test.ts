import assert from "node:assert/strict";
import { equivalents, isEquivalent } from "./equivalent.ts";
import { mutantsOf } from "./mutate.ts";

const root = new URL("../../", import.meta.url);

for (const each of equivalents) {
  Deno.test(`equivalent mutant of ${each.path}: ${each.change} in "${each.code}"`, async () => {
    const source = await Deno.readTextFile(new URL(each.path, root));
    const marked = mutantsOf(each.path, source).filter(isEquivalent);
    const own = marked.filter(({ change, code }) => change === each.change && code === each.code);
    assert.equal(own.length, 1, "the code is another now: take the entry away, or write it anew");
    assert.ok(each.reason.length > 20);
  });
}
