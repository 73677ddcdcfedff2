import assert from "node:assert/strict";
import { joinPath, valueAt } from "../../../lib/config/tables.ts";

const rows: readonly (readonly [place: string, value: unknown])[] = [
  ["mode", "nftables"],
  ["linux.conntrack.min", 1],
  ["linux.conntrack", { min: 1 }],
  ["linux.none", undefined],
  ["linux.none.min", undefined],
  ["nothing.min", undefined],
  ["mode.length", undefined],
];

for (const [place, value] of rows) {
  Deno.test(`valueAt() finds at ${place}: ${JSON.stringify(value)}`, () => {
    const configuration = { mode: "nftables", linux: { conntrack: { min: 1 } }, nothing: null };
    assert.deepEqual(valueAt(configuration, place), value);
  });
}

Deno.test("joinPath() leaves out what is empty", () => {
  assert.equal(joinPath("", "linux", "", "conntrack"), "linux.conntrack");
  assert.equal(joinPath("", ""), "");
});
