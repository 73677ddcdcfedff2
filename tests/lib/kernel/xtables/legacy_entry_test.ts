import assert from "node:assert/strict";
import { textAt } from "../../../../lib/kernel/xtables/legacy_entry.ts";

const bytes = new TextEncoder().encode("nat\0mangle");

Deno.test("textAt() reads a text that ends with a zero, or with its field at the very end", () => {
  assert.equal(textAt(bytes, 0, 8), "nat");
  assert.equal(textAt(bytes, 4, 6), "mangle");
});

Deno.test("textAt() refuses a field that reaches beyond the end", () => {
  assert.throws(() => textAt(bytes, 4, 7), /an entry ends too early/);
});
