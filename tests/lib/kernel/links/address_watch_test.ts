/** On a real socket, for which nobody needs rights; what changes addresses does, and is in root tests. */
import assert from "node:assert/strict";
import { watchAddresses } from "../../../../lib/kernel/links/address_watch.ts";

Deno.test("watchAddresses() says at once that there is a list to be had, and ends with the signal", async () => {
  const stop = new AbortController();
  const watch = watchAddresses(stop.signal);
  assert.equal((await watch.next()).done, false);
  const second = watch.next();
  stop.abort();
  assert.equal((await second).done, true);
});

Deno.test("watchAddresses() opens nothing for a signal that was aborted before", async () => {
  assert.equal((await watchAddresses(AbortSignal.abort()).next()).done, true);
});
