import assert from "node:assert/strict";
import { Progress } from "../../../lib/watchers/progress.ts";
import { compareVersions } from "../../../lib/watchers/resource_version.ts";

for (
  const [a, b, sign] of [["9", "10", -1], ["10", "9", 1], ["7", "7", 0], [
    "99999999999999999999",
    "100000000000000000000",
    -1,
  ]] as const
) {
  Deno.test(`compareVersions("${a}", "${b}") has the sign ${sign}`, () => {
    assert.equal(Math.sign(compareVersions(a, b) ?? NaN), sign);
  });
}

Deno.test("compareVersions() says nothing about versions that are no numbers", () => {
  assert.equal(compareVersions("abc", "1"), undefined);
});

Deno.test("Progress passes every event on as news until namespaces come back", () => {
  const progress = new Progress();
  progress.listed("10");
  assert.ok(progress.advanced("a", "11"));
  assert.equal(progress.version, "11");
});

Deno.test("Progress rewinds to the oldest version, and each namespace hears only its news", () => {
  const progress = new Progress();
  progress.listed("20");
  progress.rewind(new Map([["b", "15"], ["c", "25"]]));
  assert.equal(progress.version, "15");
  const heard = [["a", "16"], ["b", "17"], ["c", "18"], ["a", "21"], ["c", "24"], ["c", "26"], [
    "a",
    "27",
  ]].filter(([namespace, version]) => progress.advanced(namespace, version));
  assert.deepEqual(heard, [["b", "17"], ["a", "21"], ["c", "26"], ["a", "27"]]);
});

Deno.test("Progress that broke off while rewound lists from what was seen before", () => {
  const progress = new Progress();
  progress.listed("20");
  progress.rewind(new Map([["b", "15"]]));
  progress.lost({ everything: false });
  assert.equal(progress.listFrom, "20");
});

Deno.test("Progress takes a bookmark behind its version for older data", () => {
  const progress = new Progress();
  progress.listed("20");
  assert.ok(progress.bookmarked("21"));
  assert.ok(!progress.bookmarked("3"));
  progress.lost({ everything: true });
  assert.equal(progress.listFrom, "");
});
