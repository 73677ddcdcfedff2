import assert from "node:assert/strict";
import { RateLimiter } from "../../../lib/kube/rate_limiter.ts";
import { FakeClock } from "../../fakes/fake_clock.ts";

const { signal } = new AbortController();

Deno.test("RateLimiter lets the burst pass at once, then keeps to the rate, in order", async () => {
  const clock = new FakeClock();
  const limiter = new RateLimiter({ qps: 5, burst: 3, clock });
  const passed: number[] = [];
  const requests = [0, 1, 2, 3, 4].map(async (request) => {
    await limiter.wait(signal);
    passed.push(request);
  });
  await Promise.all(requests.slice(0, 3));
  assert.deepEqual(passed, [0, 1, 2]);
  await clock.advance(200);
  await requests[3];
  assert.deepEqual(passed, [0, 1, 2, 3]);
  await clock.advance(200);
  await requests[4];
});

Deno.test("RateLimiter fills up to the burst again while nothing is asked", async () => {
  const clock = new FakeClock();
  const limiter = new RateLimiter({ qps: 1, burst: 2, clock });
  assert.equal(await limiter.wait(signal), 0);
  assert.equal(await limiter.wait(signal), 0);
  await clock.advance(60_000);
  assert.equal(await limiter.wait(signal), 0);
  assert.equal(await limiter.wait(signal), 0);
  assert.equal(clock.sleepers, 0);
});

for (const qps of [0, -1]) {
  Deno.test(`RateLimiter with ${qps} requests a second has no limit`, async () => {
    const limiter = new RateLimiter({ qps, burst: 1, clock: new FakeClock() });
    for (let i = 0; i < 100; i++) assert.equal(await limiter.wait(signal), 0);
  });
}

for (const burst of [0, 1]) {
  Deno.test(`RateLimiter with a burst of ${burst} lets one pass, and the next after its time`, async () => {
    const clock = new FakeClock();
    const limiter = new RateLimiter({ qps: 4, burst, clock });
    assert.equal(await limiter.wait(signal), 0);
    const second = limiter.wait(signal);
    assert.equal(clock.sleepers, 1);
    await clock.advance(250);
    assert.equal(await second, 250);
    await clock.advance(60_000);
    assert.equal(await limiter.wait(signal), 0);
    const fourth = limiter.wait(signal);
    assert.equal(clock.sleepers, 1);
    await clock.advance(250);
    assert.equal(await fourth, 250);
  });
}

Deno.test("RateLimiter fills up at its rate", async () => {
  const clock = new FakeClock();
  const limiter = new RateLimiter({ qps: 2, burst: 4, clock });
  for (let i = 0; i < 4; i++) assert.equal(await limiter.wait(signal), 0);
  await clock.advance(1_000);
  const waits = [0, 1, 2].map(() => limiter.wait(signal));
  await clock.advance(500);
  assert.deepEqual(await Promise.all(waits), [0, 0, 500]);
});
