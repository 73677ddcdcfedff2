/** Looks that take a small share of the time. */
import assert from "node:assert/strict";
import { FakeClock } from "../../../fakes/fake_clock.ts";
import { type Pace, Turns } from "../../../../lib/writers/iptables/turns.ts";

/** Looks take so long; whether there was a turn. */
function turns(pace: Pace) {
  const clock = new FakeClock();
  const taken = new Turns(clock);
  const look = async (afterMs: number, tookMs: number) => {
    clock.pass(afterMs);
    let hadTurn = false;
    await taken.take(pace, () => {
      hadTurn = true;
      clock.pass(tookMs);
      return Promise.resolve(false);
    });
    return hadTurn;
  };
  const fail = () => taken.take(pace, () => (clock.pass(100), Promise.reject(new Error("gone"))));
  return { look, fail };
}

Deno.test("what is saved up is spent without waiting, and earned again", async () => {
  const { look } = turns({ share: 1 / 10, savedMs: 200 });
  assert.ok(await look(0, 150));
  assert.ok(await look(0, 150));
  // Of 300 ms 200 were saved up, and 30 earned meanwhile.
  assert.ok(!await look(699, 150));
  assert.ok(await look(1, 150));
  assert.ok(!await look(0, 150));
  assert.ok(await look(60_000, 150));
  assert.ok(await look(0, 150));
  assert.ok(!await look(0, 150));
});

Deno.test("a look that had its turn as others waited too long owes no more than its own time", async () => {
  const { look } = turns({ share: 1 / 10, longestMs: 1_000 });
  assert.ok(await look(0, 500));
  assert.ok(await look(500, 500));
  assert.ok(await look(500, 0));
  assert.ok(await look(0, 0));
});

Deno.test("a look that failed took its time", async () => {
  const { fail, look } = turns({ share: 1 / 10 });
  await assert.rejects(fail());
  assert.ok(!await look(899, 0));
  assert.ok(await look(1, 0));
});
