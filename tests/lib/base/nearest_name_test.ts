import assert from "node:assert/strict";
import { didYouMean, nearestName } from "../../../lib/base/nearest_name.ts";

const names = ["mode", "nodePortAddresses", "clusterCIDR", "--proxy-mode", "validate", "convert"];

const rows: readonly [name: string, expected: string | undefined][] = [
  ["moed", "mode"],
  ["Mode", "mode"],
  ["nodeportadresses", "nodePortAddresses"],
  ["clusterCidr", "clusterCIDR"],
  ["--proxy_mode", "--proxy-mode"],
  ["validat", "validate"],
  ["conver", "convert"],
  ["zebra", undefined],
  ["x", undefined],
  ["", undefined],
];

Deno.test("nearestName() finds a slip and nothing else", async (t) => {
  for (const [name, expected] of rows) {
    await t.step(`"${name}"`, () => assert.equal(nearestName(name, names), expected));
  }
});

Deno.test("nearestName() prefers the same word, then the first of equally close ones", () => {
  assert.equal(nearestName("mode", ["Mode", "mode"]), "mode");
  assert.equal(nearestName("mode", ["mose", "moda"]), "mose");
  assert.equal(nearestName("ab", ["ba"]), "ba");
  assert.equal(nearestName("abc", ["abcde"]), undefined);
  assert.equal(nearestName("abcdef", ["badcef"]), "badcef");
  assert.equal(nearestName("abcdef", ["badcfe"]), undefined);
});

Deno.test("didYouMean() is a clause or nothing", () => {
  assert.equal(didYouMean("moed", names), '; did you mean "mode"?');
  assert.equal(didYouMean("zebra", names), "");
});
