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
  ["1E3", "1e3"],
  ["15e2", "1500"],
  ["1500e3", "1500e3"],
  ["1000e3", "1e6"],
  ["1e-3", "1e-3"],
  ["-1e3", "-1e3"],
  ["1e0", "1"],
  ["+5", "5"],
  ["-1024Ki", "-1Mi"],
  ["-1.5Ki", "-1536"],
  ["0.5Ki", "512"],
  ["0Ki", "0"],
  ["1Ei", "1Ei"],
  ["2048Pi", "2Ei"],
  ["1024Ti", "1Pi"],
  ["1024Gi", "1Ti"],
  ["1024Mi", "1Gi"],
  ["1000M", "1G"],
  ["1000G", "1T"],
  ["1000T", "1P"],
  ["1000P", "1E"],
  ["1000000u", "1"],
  ["1000n", "1u"],
  ["1n", "1n"],
  ["0.1n", "1n"],
  ["-0.1n", "-1n"],
  ["1.5n", "2n"],
  [".5", "500m"],
  ["5.", "5"],
  ["1e400", undefined],
  ["1Ki1", undefined],
  ["1e", undefined],
  ["--1", undefined],
  [".", undefined],
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
