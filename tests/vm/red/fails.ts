/** A guest test that fails. */
import assert from "node:assert/strict";

Deno.test("a guest test that fails", () => {
  assert.equal("what a guest test saw", "what it expected");
});
