/** A guest test that passes, so that a guest that fails all is noticed. */
import assert from "node:assert/strict";

Deno.test("a guest test that passes", () => {
  assert.ok(Deno.env.has("KUBE_PROXY_TEST_GUEST"));
});
