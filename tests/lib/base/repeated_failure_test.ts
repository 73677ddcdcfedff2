import assert from "node:assert/strict";
import type { Clock } from "../../../lib/base/clock.ts";
import type { Logger } from "../../../lib/base/log.ts";
import { RepeatedFailureLog } from "../../../lib/base/repeated_failure.ts";

function setUp() {
  const lines: string[] = [];
  const time = { now: 0 };
  const clock: Clock = {
    now: () => time.now,
    monotonic: () => time.now,
    sleep: () => Promise.resolve(),
    after: () => () => {},
  };
  const logger: Logger = {
    info: () => {},
    verbose: () => {},
    warning: () => {},
    error: (message, error, values) =>
      void lines.push(`${message}: ${error} ${JSON.stringify(values)}`),
    enabled: () => true,
  };
  return { lines, time, log: new RepeatedFailureLog(logger, clock) };
}

const failure = { key: "sync IPv4", message: "Cannot sync", error: "busy", values: { family: 4 } };

Deno.test("RepeatedFailureLog says a failure at most once a minute", async (t) => {
  await t.step("the first at once, the next after a minute with a count", () => {
    const { lines, time, log } = setUp();
    for (time.now = 0; time.now <= 60_000; time.now += 5_000) log.report(failure);
    assert.deepEqual(lines, [
      'Cannot sync: busy {"family":4}',
      'Cannot sync: busy {"family":4,"repeated":11}',
    ]);
  });
  await t.step("a second one after a minute, none between them, has no count", () => {
    const { lines, time, log } = setUp();
    log.report(failure);
    time.now = 60_000;
    log.report(failure);
    time.now = 119_999;
    log.report(failure);
    assert.equal(lines.length, 2);
    assert.equal(lines[1], lines[0]);
  });
  await t.step("one between them is counted", () => {
    const { lines, time, log } = setUp();
    for (time.now = 0; time.now <= 60_000; time.now += 30_000) log.report(failure);
    assert.match(lines[1], /"repeated":1\}$/);
  });
  await t.step("another failure is another matter", () => {
    const { lines, log } = setUp();
    log.report(failure);
    log.report({ ...failure, key: "sync IPv6" });
    assert.equal(lines.length, 2);
  });
  await t.step("one that is over is new when it comes back", () => {
    const { lines, log } = setUp();
    log.report(failure);
    log.clear(failure.key);
    log.report(failure);
    assert.equal(lines.length, 2);
  });
  await t.step("the oldest of very many is forgotten, and no other", () => {
    const { lines, log } = setUp();
    for (let key = 0; key <= 1_000; key++) log.report({ ...failure, key: String(key) });
    for (const key of ["1000", "500", "1"]) log.report({ ...failure, key });
    log.report({ ...failure, key: "0" });
    assert.equal(lines.length, 1_002);
  });
});
