import assert from "node:assert/strict";
import { SharedTexts } from "../../../lib/base/shared_texts.ts";

Deno.test("SharedTexts gives back each text, whichever it has seen, however many come", () => {
  const texts = new SharedTexts();
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < 70_000; i++) assert.equal(texts.share(`text ${i}`), `text ${i}`);
  }
  assert.equal(texts.share(""), "");
});
