import assert from "node:assert/strict";
import { canonicalQuantity } from "../../../lib/config/quantity.ts";

const quantities: [string, string | undefined][] = [
  ["0", "0"],
  ["4Ki", "4Ki"],
  ["1024Ki", "1Mi"],
  ["1023Ki", "1023Ki"],
  ["1.5Ki", "1536"],
  ["4096", "4096"],
  ["1000", "1k"],
  ["1000k", "1M"],
  ["1500m", "1500m"],
  ["0.5", "500m"],
  ["1e3", "1e3"],
  ["", undefined],
  ["4K", undefined],
  ["abc", undefined],
];

Deno.test("canonicalQuantity() writes quantities as Kubernetes does", async (t) => {
  for (const [text, expected] of quantities) {
    await t.step(
      text === "" ? "empty" : text,
      () => assert.equal(canonicalQuantity(text), expected),
    );
  }
});
