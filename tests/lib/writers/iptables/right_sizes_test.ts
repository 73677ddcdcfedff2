/** Which sizes of tables were found right. */
import assert from "node:assert/strict";
import { type XtTable, xtTables } from "../../../../lib/kernel/xtables/rules.ts";
import type { XtStamp } from "../../../../lib/kernel/xtables/xtables.ts";
import { RightSizes } from "../../../../lib/writers/iptables/right_sizes.ts";

const both: readonly XtTable[] = ["filter", "nat"];

/** In a stamp each table has a word: "filter=1 nat=1". */
function moved(before: XtStamp, after: XtStamp): readonly XtTable[] {
  const [was, is] = [before, after].map((stamp) => stamp.split(" "));
  const sizeIn = (words: readonly string[], table: XtTable) =>
    words.find((word) => word.startsWith(`${table}=`));
  return xtTables.filter((table) => sizeIn(was, table) !== sizeIn(is, table));
}

/** Tables with sizes that were right. */
function rightAt(...stamps: readonly XtStamp[]): RightSizes {
  const sizes = new RightSizes(moved);
  for (const stamp of stamps) sizes.add(both, stamp);
  return sizes;
}

Deno.test("a size is right in whichever state it is met again, of that table alone", () => {
  const sizes = rightAt("filter=1 nat=1");
  sizes.add(["nat"], "filter=9 nat=2");
  assert.ok(sizes.has("nat", "filter=5 nat=1"));
  assert.ok(sizes.has("nat", "filter=5 nat=2"));
  assert.ok(!sizes.has("nat", "filter=1 nat=3"));
  assert.ok(!sizes.has("filter", "filter=9 nat=2"));
  sizes.clear();
  assert.ok(!sizes.has("nat", "filter=1 nat=1"));
});

Deno.test("after a commit of ours its own size alone is right, of tables that it changed", () => {
  const sizes = rightAt("filter=1 nat=1", "filter=2 nat=2");
  sizes.committed({ before: "filter=2 nat=2", after: "filter=2 nat=3", isOwn: true });
  assert.ok(sizes.has("nat", "nat=3"));
  assert.ok(!sizes.has("nat", "nat=1") && !sizes.has("nat", "nat=2"));
  assert.ok(sizes.has("filter", "filter=1") && sizes.has("filter", "filter=2"));
});

Deno.test("a commit of ours onto what nobody looked at makes nothing right", () => {
  const sizes = rightAt("filter=1 nat=1");
  sizes.committed({ before: "filter=1 nat=2", after: "filter=1 nat=3", isOwn: true });
  assert.ok(!sizes.has("nat", "nat=1") && !sizes.has("nat", "nat=3"));
});

Deno.test("the latest sizes are kept, each once", () => {
  const sizes = rightAt("nat=0");
  for (let size = 1; size <= 7; size++) sizes.add(["nat"], `nat=${size}`);
  sizes.add(["nat"], "nat=7");
  assert.ok(sizes.has("nat", "nat=0"));
  sizes.add(["nat"], "nat=8");
  assert.ok(!sizes.has("nat", "nat=0"));
  assert.ok(sizes.has("nat", "nat=1") && sizes.has("nat", "nat=8"));
});
