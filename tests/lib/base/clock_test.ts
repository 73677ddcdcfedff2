import assert from "node:assert/strict";
import { systemClock } from "../../../lib/base/clock.ts";
import { FakeClock } from "../../fakes/fake_clock.ts";

Deno.test("after() calls back once, and not when it was taken back", async () => {
  const called: string[] = [];
  const clock = new FakeClock();
  clock.after(10, () => called.push("first"));
  const cancel = clock.after(10, () => called.push("second"));
  await clock.advance(9);
  assert.deepEqual(called, []);
  cancel();
  await clock.advance(50);
  assert.deepEqual(called, ["first"]);
});

Deno.test("the system's after() calls back, and not when it was taken back", async () => {
  const called: string[] = [];
  const cancel = systemClock.after(0, () => called.push("cancelled"));
  cancel();
  await new Promise<void>((resolve) => {
    systemClock.after(1, () => {
      called.push("in time");
      resolve();
    });
  });
  assert.deepEqual(called, ["in time"]);
});
