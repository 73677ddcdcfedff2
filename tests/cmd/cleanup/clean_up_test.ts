import assert from "node:assert/strict";
import { FakeKernel } from "../../../lib/kernel/fake_kernel.ts";
import type { ModeLeftovers, RemovalStep } from "../../../lib/writers/leftovers.ts";
import { cleanUp, type CleanUpOptions, isDone } from "../../../cmd/cleanup/clean_up.ts";

const step: RemovalStep = {
  action: "delete",
  backend: "nft",
  family: "IPv4",
  kind: "chain",
  place: "table nat",
  name: "KUBE-SERVICES",
};
const plan = { steps: [step], kept: [], remaining: [{ what: "a", reason: "no tool" }] };

function options(
  doors: Readonly<Record<string, ModeLeftovers>>,
  more: Partial<CleanUpOptions> = {},
): CleanUpOptions {
  return {
    doors: new Map(
      Object.entries(doors).map(([mode, door]) => [mode, () => Promise.resolve(door)]),
    ),
    kernel: new FakeKernel(),
    dryRun: false,
    signal: new AbortController().signal,
    onLook: () => {},
    onPlan: () => {},
    ...more,
  };
}

Deno.test("cleanUp() adds what a plan could not do to what remains", async () => {
  const removal = {
    plan: () => Promise.resolve(plan),
    apply: () => Promise.resolve({ removed: [step], remaining: [{ what: "b", reason: "busy" }] }),
  };
  const outcomes = await cleanUp(
    ["m"],
    options({ m: { find: () => Promise.resolve([]), removal } }),
  );
  assert.deepEqual(outcomes[0].report.remaining.map(({ what }) => what), ["a", "b"]);
  assert.equal(isDone(outcomes), false);
});

Deno.test("cleanUp() does the next mode after one that fails, and says what failed", async () => {
  const find = () => Promise.resolve([]);
  const broken = { plan: () => Promise.reject(new Error("no answer")), apply: () => assert.fail() };
  const failing = {
    plan: () => Promise.resolve(plan),
    apply: () => Promise.reject(new Error("lost")),
  };
  const outcomes = await cleanUp(
    ["first", "second"],
    options({ first: { find, removal: broken }, second: { find, removal: failing } }),
  );
  assert.deepEqual(outcomes.map(({ report }) => report.remaining), [
    [{ what: "whatever first mode left", reason: "no answer" }],
    [...plan.remaining, { what: "whatever second mode left", reason: "lost" }],
  ]);
});

Deno.test("cleanUp() that is stopped says what was not done", async () => {
  const stop = new AbortController();
  const removal = {
    plan: () => Promise.resolve({ steps: [step], kept: [], remaining: [] }),
    apply: () => {
      stop.abort();
      return Promise.resolve({ removed: [step], remaining: [] });
    },
  };
  const door = { find: () => Promise.resolve([]), removal };
  const outcomes = await cleanUp(
    ["first", "second"],
    options({ first: door, second: door }, { signal: stop.signal }),
  );
  assert.deepEqual(outcomes[0].report, { removed: [step], remaining: [] });
  assert.deepEqual(outcomes[1].report, {
    removed: [],
    remaining: [{ what: "whatever second mode left", reason: "stopped before it was done" }],
  });
  assert.equal(isDone(outcomes), false);
});

Deno.test("cleanUp() gives back what it read of a large node before it reads it again", async () => {
  const collectedFor = async (count: number) => {
    const steps = Array.from({ length: count }, () => step);
    const kernel = new FakeKernel();
    const removal = {
      plan: () => Promise.resolve({ steps, kept: [], remaining: [] }),
      apply: () => Promise.resolve({ removed: steps, remaining: [] }),
    };
    await cleanUp(["m"], options({ m: { find: () => Promise.resolve([]), removal } }, { kernel }));
    return kernel.self.garbageCollected;
  };
  assert.deepEqual([await collectedFor(10_000), await collectedFor(10_001)], [0, 1]);
});
