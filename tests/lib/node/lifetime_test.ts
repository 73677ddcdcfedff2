import assert from "node:assert/strict";
import { Lifetime } from "../../../lib/node/lifetime.ts";

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
}

Deno.test("a Lifetime ends with the signal outside, and waits for its tasks", async () => {
  const outside = new AbortController();
  const lifetime = new Lifetime(outside.signal);
  const ended: string[] = [];
  lifetime.start(async (signal) => (await untilAborted(signal), void ended.push("task")));
  outside.abort();
  await lifetime.finished();
  assert.deepEqual(ended, ["task"]);
});

Deno.test("a Lifetime that begins after the signal is over at once", () => {
  assert.equal(new Lifetime(AbortSignal.abort()).signal.aborted, true);
});

Deno.test("a failed task ends the others, and its error is told", async () => {
  const lifetime = new Lifetime(new AbortController().signal);
  lifetime.start((signal) => untilAborted(signal));
  lifetime.start(() => Promise.reject(new Error("first")));
  await assert.rejects(lifetime.finished(), /first/);
});

Deno.test("what tasks throw while everything ends is not told", async () => {
  const lifetime = new Lifetime(new AbortController().signal);
  lifetime.start(async (signal) => {
    await untilAborted(signal);
    throw new Error("noise");
  });
  lifetime.end();
  await lifetime.finished();
});

Deno.test("a task is not begun after the end: it would wait for an end that has been", async () => {
  const lifetime = new Lifetime(new AbortController().signal);
  lifetime.start(() => Promise.reject(new Error("first")));
  await Promise.resolve();
  await new Promise((resolve) => setTimeout(resolve, 0));
  lifetime.start((signal) => untilAborted(signal));
  await assert.rejects(lifetime.finished(), /first/);
});

Deno.test("a Lifetime closes what it owns when its tasks have ended, the last one first, and after a failure too", async () => {
  const lifetime = new Lifetime(new AbortController().signal);
  const seen: string[] = [];
  lifetime.own({ [Symbol.dispose]: () => void seen.push("client closed") });
  lifetime.own({
    [Symbol.asyncDispose]: () => {
      seen.push("port closed");
      return Promise.resolve();
    },
  });
  lifetime.start(async (signal) => (await untilAborted(signal), void seen.push("task ended")));
  lifetime.fail(new Error("a duty failed"));
  await assert.rejects(lifetime.finished(), /a duty failed/);
  assert.deepEqual(seen, ["task ended", "port closed", "client closed"]);
});
