import assert from "node:assert/strict";
import { turnOfTheEventLoop } from "../../../lib/base/event_loop.ts";

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
