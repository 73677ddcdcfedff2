import assert from "node:assert/strict";
import { linkAbort, untilAborted } from "../../../lib/base/abort.ts";

Deno.test("linkAbort() aborts with the outer signal, and by itself", () => {
  const outer = new AbortController();
  using first = linkAbort(outer.signal);
  using second = linkAbort(outer.signal);
  first.abort();
  assert.equal(first.signal.aborted, true);
  assert.equal(second.signal.aborted, false);
  outer.abort("over");
  assert.equal(second.signal.reason, "over");
});

Deno.test("linkAbort() of an aborted signal is aborted", () => {
  assert.equal(linkAbort(AbortSignal.abort()).signal.aborted, true);
});

Deno.test("linkAbort() aborts when the time is up, unless it is disposed before", async () => {
  const outer = new AbortController();
  using short = linkAbort(outer.signal, { afterMs: 5 });
  using long = linkAbort(outer.signal, { afterMs: 60_000 });
  // The test fails by itself where a disposed one leaves its timer.
  linkAbort(outer.signal, { afterMs: 60_000 })[Symbol.dispose]();
  await untilAborted(short.signal);
  assert.equal(long.signal.aborted, false);
  assert.equal(outer.signal.aborted, false);
});

Deno.test("linkAbort() hears nothing once it is disposed", () => {
  const outer = new AbortController();
  const linked = linkAbort(outer.signal);
  linked[Symbol.dispose]();
  outer.abort();
  assert.equal(linked.signal.aborted, false);
});
