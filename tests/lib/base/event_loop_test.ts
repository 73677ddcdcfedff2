import assert from "node:assert/strict";
import { turnOfTheEventLoop, TurnsNowAndThen } from "../../../lib/base/event_loop.ts";

Deno.test("turnOfTheEventLoop() lets a message that waits go first", async () => {
  const { port1, port2 } = new MessageChannel();
  const order: string[] = [];
  port2.onmessage = () => order.push("message");
  port1.postMessage("x");
  // A message takes a turn or two to arrive; work that only awaited promises would keep it waiting.
  for (let turns = 0; turns < 100 && order.length === 0; turns++) await turnOfTheEventLoop();
  assert.deepEqual(order, ["message"]);
  port1.close();
  port2.close();
});

Deno.test("TurnsNowAndThen takes a turn once some milliseconds have gone, and none before", async () => {
  let now = 0;
  const turns = new TurnsNowAndThen({ monotonic: () => now });
  let hadTurn = false;
  const take = async (afterMs: number) => {
    now += afterMs;
    hadTurn = false;
    const timer = setTimeout(() => hadTurn = true);
    await turns.take();
    // A turn lets timers of that time go first.
    const had = hadTurn;
    clearTimeout(timer);
    return had;
  };
  assert.deepEqual([await take(3), await take(4)], [false, false]);
  assert.equal(await take(1), true);
  assert.deepEqual([await take(7), await take(1), await take(7)], [false, true, false]);
});
