/** A guest test that takes its kernel with it. */
import assert from "node:assert/strict";

Deno.test("a guest test that panics", () => {
  assert.ok(Deno.env.has("KUBE_PROXY_TEST_GUEST"), "only a guest's kernel may panic");
  Deno.writeTextFileSync("/proc/sysrq-trigger", "c");
});
