import assert from "node:assert/strict";
import { ApiError, ConnectionError, emptyStatus } from "../../../lib/kube/status.ts";
import { Backoff } from "../../../lib/watchers/backoff.ts";

const delays = (error: Error, count: number) => {
  const backoff = new Backoff(() => 1);
  return Array.from({ length: count }, () => backoff.next(error));
};

Deno.test("Backoff asks a server that is not there at least every second, however long it is away", () => {
  const all = delays(new ConnectionError("gone"), 1_000);
  assert.equal(all[0], 200);
  assert.equal(Math.max(...all), 1_000);
});

Deno.test("Backoff spares a server that refuses: 1.5 s for a minute, then up to 30 s", () => {
  const all = delays(new ApiError("no", { ...emptyStatus, code: 500 }), 100);
  const patient = all.slice(0, 50);
  assert.equal(Math.max(...patient), 1_500);
  assert.ok(patient.reduce((sum, delayMs) => sum + delayMs, 0) > 60_000);
  assert.deepEqual(all.slice(0, 4), [200, 400, 800, 1_500]);
  assert.deepEqual(all.slice(49, 56), [1_500, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]);
  assert.equal(all.at(-1), 30_000);
});

Deno.test("Backoff begins anew with a server that came back from a long outage and still refuses", () => {
  const backoff = new Backoff(() => 1);
  for (let i = 0; i < 100; i++) backoff.next(new ConnectionError("gone"));
  const refusal = new ApiError("not yet", { ...emptyStatus, code: 403 });
  const all = Array.from({ length: 3 }, () => backoff.next(refusal));
  assert.deepEqual(all, [200, 400, 800]);
});

Deno.test("Backoff waits as long as the server asks, and a little more, but never above 30.5 s", () => {
  const [short] = delays(
    new ApiError("later", { ...emptyStatus, code: 429, retryAfterMs: 3_000 }),
    1,
  );
  assert.equal(short, 3_500);
  const [least] = delays(
    new ApiError("later", { ...emptyStatus, code: 429, retryAfterMs: 1 }),
    1,
  );
  assert.equal(least, 501);
  const [long] = delays(new ApiError("later", { ...emptyStatus, code: 429, retryAfterMs: 1e9 }), 1);
  assert.equal(long, 30_500);
});

Deno.test("Backoff spreads nodes that failed in the same instant", () => {
  const soonest = new Backoff(() => 0).next(new ConnectionError("gone"));
  const latest = new Backoff(() => 1).next(new ConnectionError("gone"));
  assert.ok(latest >= 2 * soonest);
});

Deno.test("Backoff begins anew after a success", () => {
  for (
    const error of [new ConnectionError("gone"), new ApiError("no", { ...emptyStatus, code: 500 })]
  ) {
    const backoff = new Backoff(() => 1);
    const fresh = backoff.next(error);
    for (let i = 0; i < 50; i++) backoff.next(error);
    backoff.reset();
    assert.equal(backoff.next(error), fresh);
  }
});

Deno.test("Backoff counts refusals anew behind an outage: who came back may have other reasons", () => {
  const refusal = new ApiError("no", { ...emptyStatus, code: 500 });
  const backoff = new Backoff(() => 1);
  for (let i = 0; i < 60; i++) backoff.next(refusal);
  backoff.next(new ConnectionError("gone"));
  assert.equal(backoff.next(refusal), 200);
});
