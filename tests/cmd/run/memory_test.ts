import assert from "node:assert/strict";
import { returnMemory } from "../../../cmd/run/memory.ts";
import { FakeSelf } from "../../../lib/kernel/fake_self.ts";
import { FakeClock } from "../../fakes/fake_clock.ts";

interface Rig {
  readonly self: FakeSelf;
  readonly clock: FakeClock;
  /** How many changes were heard of. */
  changes: number;
  /** How many endpoints are known. */
  endpoints: number;
}

async function withUpkeep(body: (rig: Rig) => Promise<void>): Promise<void> {
  const rig: Rig = { self: new FakeSelf(), clock: new FakeClock(), changes: 0, endpoints: 100 };
  const end = new AbortController();
  const { self, clock } = rig;
  const [changes, endpoints] = [() => rig.changes, () => rig.endpoints];
  const done = returnMemory({ self, clock, changes, endpoints }, end.signal);
  try {
    await body(rig);
  } finally {
    end.abort();
    await done;
  }
}

Deno.test("returnMemory() waits for the start to settle, goes on while something changes, and ends", () =>
  withUpkeep(async (rig) => {
    await rig.clock.advance(9_999);
    assert.equal(rig.self.memoryReturned, 0);
    await rig.clock.advance(1);
    assert.equal(rig.self.memoryReturned, 1);
    rig.changes++;
    await rig.clock.advance(60_000);
    assert.equal(rig.self.memoryReturned, 2);
    await rig.clock.advance(60_000);
    assert.equal(rig.self.memoryReturned, 2);
  }));

Deno.test("returnMemory() collects a start's garbage once, when it is quiet", () =>
  withUpkeep(async (rig) => {
    await rig.clock.advance(9_000);
    rig.changes++;
    await rig.clock.advance(1_000);
    assert.equal(rig.self.garbageCollected, 0);
    await rig.clock.advance(60_000);
    assert.equal(rig.self.garbageCollected, 1);
    await rig.clock.advance(120_000);
    assert.equal(rig.self.garbageCollected, 1);
  }));

Deno.test("returnMemory() collects again when much garbage has come", () =>
  withUpkeep(async (rig) => {
    await rig.clock.advance(10_000);
    assert.equal(rig.self.garbageCollected, 1);
    rig.self.heap *= 1.2;
    await rig.clock.advance(60_000);
    assert.equal(rig.self.garbageCollected, 1);
    rig.self.heap *= 1.2;
    await rig.clock.advance(60_000);
    assert.equal(rig.self.garbageCollected, 2);
  }));

Deno.test("returnMemory() collects again when many endpoints went, however small the heap", () =>
  withUpkeep(async (rig) => {
    await rig.clock.advance(10_000);
    rig.endpoints = 80;
    await rig.clock.advance(60_000);
    assert.equal(rig.self.garbageCollected, 1);
    rig.endpoints = 79;
    await rig.clock.advance(60_000);
    assert.equal(rig.self.garbageCollected, 2);
    await rig.clock.advance(60_000);
    assert.equal(rig.self.garbageCollected, 2);
  }));
