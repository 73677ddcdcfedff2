import assert from "node:assert/strict";
import { systemClock, untilNext } from "../../../lib/base/clock.ts";
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

Deno.test("untilNext() tells whole milliseconds, never too few and never none", () => {
  const at = (time: number) => untilNext(2_000, { monotonic: () => time });
  assert.deepEqual([0, 0.4, 700, 1_999.5, 2_000, 5_300.2].map(at), [
    2_000,
    2_000,
    1_300,
    1,
    2_000,
    700,
  ]);
});
