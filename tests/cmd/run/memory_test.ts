import assert from "node:assert/strict";
import { returnMemory } from "../../../cmd/run/memory.ts";
import { FakeSelf } from "../../../lib/kernel/fake_self.ts";
import { FakeClock } from "../../fakes/fake_clock.ts";

Deno.test("returnMemory() waits for the start to settle, goes on every minute, and ends", async () => {
  const self = new FakeSelf();
  const clock = new FakeClock();
  const end = new AbortController();
  const done = returnMemory(self, { clock, signal: end.signal });
  await clock.advance(9_999);
  assert.equal(self.memoryReturned, 0);
  await clock.advance(1);
  assert.equal(self.memoryReturned, 1);
  await clock.advance(120_000);
  assert.equal(self.memoryReturned, 3);
  end.abort();
  await done;
  assert.equal(self.memoryReturned, 3);
});
