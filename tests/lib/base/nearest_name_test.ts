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

Deno.test("didYouMean() is a clause or nothing", () => {
  assert.equal(didYouMean("moed", names), '; did you mean "mode"?');
  assert.equal(didYouMean("zebra", names), "");
});
