import assert from "node:assert/strict";
import { LookBudget } from "../../../../lib/writers/nftables/look_budget.ts";
import { FakeClock } from "../../../fakes/fake_clock.ts";

Deno.test("LookBudget earns a thirty-second part of the time, and saves up no more than a second", async () => {
  const clock = new FakeClock();
  const budget = new LookBudget(clock);
  const spend = (milliseconds: number) => budget.spend(() => clock.advance(milliseconds));
  assert.equal(budget.isLeft, true);
  await spend(990);
  assert.equal(budget.isLeft, true);
  await spend(60);
  assert.equal(budget.isLeft, false);
  // Of 1,050 ms spent 1,000 were saved up, and 33 earned meanwhile.
  await clock.advance(530);
  assert.equal(budget.isLeft, false);
  await clock.advance(40);
  assert.equal(budget.isLeft, true);
  await clock.advance(3_600_000);
  await spend(1_050);
  assert.equal(budget.isLeft, false);
});

Deno.test("LookBudget spends what fails too", async () => {
  const clock = new FakeClock();
  const budget = new LookBudget(clock);
  await assert.rejects(budget.spend(async () => {
    await clock.advance(1_100);
    throw new Error("no such table");
  }));
  assert.equal(budget.isLeft, false);
});
