import assert from "node:assert/strict";
import { BoundedFrequencyRunner, type RunIntervals } from "../../../lib/sync/runner.ts";
import { SharedRest } from "../../../lib/sync/shared_rest.ts";
import { systemClock } from "../../../lib/base/clock.ts";
import { FakeClock } from "../../fakes/fake_clock.ts";

interface Rig {
  readonly clock: FakeClock;
  readonly runner: BoundedFrequencyRunner;
  readonly failures: number[];
  runs: number;
  failing: boolean;
  durationMs: number;
}

type Step =
  | { readonly request: number; readonly force?: never }
  | { readonly force: number }
  | { readonly fail: boolean; readonly force?: never }
  | { readonly advance: number; readonly runs: number; readonly force?: never };

async function withRunner(
  { clock = new FakeClock(), times }: { readonly times: RunIntervals; readonly clock?: FakeClock },
  body: (rig: Rig) => Promise<void>,
): Promise<void> {
  const stop = new AbortController();
  const failures: number[] = [];
  const rig: Rig = {
    clock,
    failures,
    runs: 0,
    failing: false,
    durationMs: 0,
    runner: new BoundedFrequencyRunner({
      intervals: times,
      clock,
      work: async (signal) => {
        rig.runs++;
        await clock.sleep(rig.durationMs, signal);
        if (rig.failing) throw new Error("sync error");
      },
      onFailure: (_error, retryMs) => failures.push(retryMs),
    }),
  };
  const loop = rig.runner.run(stop.signal);
  try {
    await body(rig);
  } finally {
    stop.abort();
    await clock.advance(0);
    await loop;
  }
}

const scenarios: readonly {
  name: string;
  times: RunIntervals;
  durationMs?: number;
  steps: readonly Step[];
}[] = [
  {
    name: "runs at once, then not before the minimum interval, and by itself after the maximum",
    times: { minMs: 1000, retryMs: 5000, maxMs: 10_000 },
    steps: [
      { request: 1 },
      { advance: 0, runs: 1 },
      { advance: 500, runs: 1 },
      { request: 1 },
      { advance: 499, runs: 1 },
      { request: 1 },
      { advance: 1, runs: 2 },
      { request: 1 },
      { advance: 1, runs: 2 },
      { request: 1 },
      { advance: 998, runs: 2 },
      { advance: 1, runs: 3 },
      { advance: 1000, runs: 3 },
      { advance: 9000, runs: 4 },
      { request: 1 },
      { advance: 999, runs: 4 },
      { advance: 1, runs: 5 },
    ],
  },
  {
    name: "retries a failed run, and a later success calls the retry off",
    times: { minMs: 1000, retryMs: 5000, maxMs: 10_000 },
    steps: [
      { fail: true },
      { request: 1 },
      { advance: 0, runs: 1 },
      { fail: false },
      { advance: 999, runs: 1 },
      { advance: 1, runs: 2 },
      { advance: 499, runs: 2 },
      { fail: true },
      { request: 1 },
      { advance: 500, runs: 2 },
      { advance: 1, runs: 3 },
      { fail: false },
      { advance: 999, runs: 3 },
      { request: 1 },
      { advance: 1, runs: 4 },
      { advance: 4000, runs: 4 },
      { fail: true },
      { request: 1 },
      { advance: 0, runs: 5 },
      { fail: false },
      { advance: 100, runs: 5 },
      { request: 1 },
      { advance: 899, runs: 5 },
      { advance: 1, runs: 6 },
      { advance: 9999, runs: 6 },
      { advance: 1, runs: 7 },
    ],
  },
  {
    name: "keeps the minimum interval before a retry that would come sooner",
    times: { minMs: 5000, retryMs: 1000, maxMs: 10_000 },
    steps: [
      { fail: true },
      { request: 1 },
      { advance: 0, runs: 1 },
      { fail: false },
      { advance: 1000, runs: 1 },
      { advance: 3999, runs: 1 },
      { advance: 1, runs: 2 },
      { advance: 10_000, runs: 3 },
    ],
  },
  {
    name: "retries after a second, then twice as long each time, up to the maximum interval",
    times: { minMs: 0, retryMs: 30_000, maxMs: 10_000 },
    steps: [
      { fail: true },
      { request: 1 },
      { advance: 999, runs: 1 },
      { advance: 1, runs: 2 },
      { advance: 1999, runs: 2 },
      { advance: 1, runs: 3 },
      { advance: 4000, runs: 4 },
      { advance: 8000, runs: 5 },
      { advance: 9999, runs: 5 },
      { advance: 1, runs: 6 },
      { advance: 10_000, runs: 7 },
    ],
  },
  {
    name: "retries after a second again when a run in between went well",
    times: { minMs: 0, retryMs: 30_000, maxMs: 100_000 },
    steps: [
      { fail: true },
      { request: 1 },
      { advance: 1000, runs: 2 },
      { fail: false },
      { advance: 2000, runs: 3 },
      { fail: true },
      { request: 1 },
      { advance: 999, runs: 4 },
      { advance: 1, runs: 5 },
    ],
  },
  {
    name: "retries again and again while runs fail",
    times: { minMs: 100, retryMs: 500, maxMs: 10_000 },
    steps: [
      { fail: true },
      { request: 1 },
      { advance: 0, runs: 1 },
      { advance: 500, runs: 2 },
      { advance: 500, runs: 3 },
      { advance: 499, runs: 3 },
      { advance: 1, runs: 4 },
    ],
  },
  {
    name: "runs by itself after the maximum interval when nobody ever asked",
    times: { minMs: 100, retryMs: 200, maxMs: 500 },
    steps: [{ advance: 499, runs: 0 }, { advance: 1, runs: 1 }],
  },
  {
    name: "makes one run of many requests",
    times: { minMs: 0, retryMs: 200, maxMs: 10_000 },
    steps: [{ request: 50 }, { advance: 100, runs: 1 }],
  },
  {
    name: "runs at once for whoever finds it idle, whatever it gathers",
    times: { minMs: 0, retryMs: 200, maxMs: 10_000, gathering: { quietMs: 2, mostMs: 10 } },
    steps: [
      { request: 1 },
      { advance: 0, runs: 1 },
      { request: 1 },
      { advance: 0, runs: 2 },
      { advance: 1, runs: 2 },
      { request: 1 },
      { advance: 0, runs: 3 },
    ],
  },
  {
    name: "gathers what comes behind a run until it is quiet",
    times: { minMs: 0, retryMs: 200, maxMs: 10_000, gathering: { quietMs: 2, mostMs: 10 } },
    durationMs: 3,
    steps: [
      { request: 1 },
      { advance: 2, runs: 1 },
      { request: 1 },
      { advance: 1, runs: 1 },
      { request: 1 },
      { advance: 1, runs: 1 },
      { advance: 1, runs: 2 },
      { advance: 100, runs: 2 },
    ],
  },
  {
    name: "gathers requests that never end for no longer than told",
    times: { minMs: 0, retryMs: 200, maxMs: 10_000, gathering: { quietMs: 4, mostMs: 10 } },
    durationMs: 1,
    steps: [
      { request: 1 },
      { advance: 0, runs: 1 },
      { request: 1 },
      { advance: 3, runs: 1 },
      { request: 1 },
      { advance: 3, runs: 1 },
      { request: 1 },
      { advance: 3, runs: 1 },
      { request: 1 },
      { advance: 1, runs: 2 },
      { advance: 100, runs: 2 },
    ],
  },
  {
    name: "does not gather again what a rest has gathered",
    times: { minMs: 50, retryMs: 200, maxMs: 10_000, gathering: { quietMs: 2, mostMs: 10 } },
    steps: [
      { request: 1 },
      { advance: 10, runs: 1 },
      { request: 1 },
      { advance: 39, runs: 1 },
      { advance: 1, runs: 2 },
    ],
  },
  {
    name: "rests in proportion to what a run took",
    times: {
      minMs: 0,
      retryMs: 200,
      maxMs: 10_000,
      rest: new SharedRest({ times: 2, leastMs: 1, mostMs: 100 }),
    },
    durationMs: 20,
    steps: [
      { request: 1 },
      { advance: 20, runs: 1 },
      { request: 1 },
      { advance: 39, runs: 1 },
      { advance: 1, runs: 2 },
    ],
  },
  {
    name: "rests no longer than told",
    times: {
      minMs: 0,
      retryMs: 200,
      maxMs: 10_000,
      rest: new SharedRest({ times: 10, leastMs: 1, mostMs: 30 }),
    },
    durationMs: 20,
    steps: [
      { request: 1 },
      { advance: 20, runs: 1 },
      { request: 1 },
      { advance: 29, runs: 1 },
      { advance: 1, runs: 2 },
    ],
  },
  {
    name: "rests for a while after the shortest run",
    times: {
      minMs: 0,
      retryMs: 200,
      maxMs: 10_000,
      rest: new SharedRest({ times: 10, leastMs: 5, mostMs: 30 }),
    },
    steps: [
      { request: 1 },
      { advance: 0, runs: 1 },
      { request: 1 },
      { advance: 4, runs: 1 },
      { advance: 1, runs: 2 },
    ],
  },
  {
    name: "does not gather when it runs by itself",
    times: { minMs: 0, retryMs: 200, maxMs: 500, gathering: { quietMs: 2, mostMs: 10 } },
    steps: [{ advance: 500, runs: 1 }],
  },
  {
    name: "is forced while it gathers",
    times: { minMs: 0, retryMs: 200, maxMs: 9000, gathering: { quietMs: 5, mostMs: 10 } },
    durationMs: 2,
    steps: [
      { request: 1 },
      { advance: 1, runs: 1 },
      { request: 1 },
      { advance: 2, runs: 1 },
      { force: 1 },
      { advance: 0, runs: 2 },
    ],
  },
  {
    name: "is forced through the minimum interval",
    times: { minMs: 1000, retryMs: 200, maxMs: 9000, gathering: { quietMs: 5, mostMs: 10 } },
    steps: [
      { request: 1 },
      { advance: 0, runs: 1 },
      { advance: 6, runs: 1 },
      { force: 1 },
      { advance: 0, runs: 2 },
      { advance: 8999, runs: 2 },
      { advance: 1, runs: 3 },
    ],
  },
];

for (const { durationMs = 0, name, steps, times } of scenarios) {
  Deno.test(`BoundedFrequencyRunner ${name}`, () =>
    withRunner({ times }, async (rig) => {
      rig.durationMs = durationMs;
      for (const [index, step] of steps.entries()) {
        if ("request" in step) { for (let i = 0; i < step.request; i++) rig.runner.request(); }
        if ("force" in step) rig.runner.force();
        if ("fail" in step) rig.failing = step.fail;
        if ("advance" in step) {
          await rig.clock.advance(step.advance);
          assert.equal(rig.runs, step.runs, `after step ${index}: ${JSON.stringify(step)}`);
        }
      }
    }));
}

Deno.test("BoundedFrequencyRunner counts the minimum interval from the end of a run", () =>
  withRunner({ times: { minMs: 1000, retryMs: 5000, maxMs: 10_000 } }, async (rig) => {
    rig.durationMs = 700;
    rig.runner.request();
    await rig.clock.advance(100);
    rig.runner.request();
    await rig.clock.advance(1599);
    assert.equal(rig.runs, 1);
    await rig.clock.advance(1);
    assert.equal(rig.runs, 2);
  }));

Deno.test("BoundedFrequencyRunner tells of a failure and when it tries again", () =>
  withRunner({ times: { minMs: 1000, retryMs: 5000, maxMs: 10_000 } }, async (rig) => {
    rig.failing = true;
    rig.runner.request();
    await rig.clock.advance(5000);
    await rig.clock.advance(2000);
    assert.deepEqual(rig.failures, [1000, 2000, 4000, 5000]);
  }));

Deno.test("BoundedFrequencyRunner refuses a maximum below the minimum interval", () => {
  assert.throws(
    () =>
      new BoundedFrequencyRunner({
        intervals: { minMs: 2, retryMs: 1, maxMs: 1 },
        clock: systemClock,
        work: () => Promise.resolve(),
        onFailure: () => {},
      }),
    RangeError,
  );
});

Deno.test("BoundedFrequencyRunner stops at once when told to, also within its intervals", async () => {
  const stop = new AbortController();
  let runs = 0;
  const runner = new BoundedFrequencyRunner({
    intervals: { minMs: 60_000, retryMs: 60_000, maxMs: 60_000 },
    clock: systemClock,
    work: () => {
      runs++;
      stop.abort();
      return Promise.resolve();
    },
    onFailure: () => {},
  });
  runner.request();
  await runner.run(stop.signal);
  assert.equal(runs, 1);
});

Deno.test("a run that was in nobody's way is followed by no rest", async () => {
  for (const [result, runs] of [[false, 2], [true, 1], [undefined, 1]] as const) {
    const clock = new FakeClock();
    const stop = new AbortController();
    let ran = 0;
    const runner = new BoundedFrequencyRunner({
      intervals: {
        minMs: 0,
        retryMs: 200,
        maxMs: 10_000,
        rest: new SharedRest({ times: 2, leastMs: 30, mostMs: 100 }),
      },
      clock,
      work: () => Promise.resolve(++ran === 1 ? result : true),
      onFailure: () => {},
    });
    const running = runner.run(stop.signal);
    runner.request();
    await clock.advance(0);
    runner.request();
    await clock.advance(29);
    assert.equal(ran, runs, String(result));
    await clock.advance(1);
    assert.equal(ran, 2);
    stop.abort();
    await running;
  }
});

Deno.test("runners that share a rest keep it after each other's runs, and wait for no run", async () => {
  const rest = new SharedRest({ times: 2, leastMs: 1, mostMs: 100 });
  const times: RunIntervals = { minMs: 0, retryMs: 200, maxMs: 10_000, rest };
  await withRunner({ times }, async (one) => {
    const { clock } = one;
    await withRunner({ times, clock }, async (other) => {
      one.durationMs = other.durationMs = 20;
      one.runner.request();
      await clock.advance(10);
      other.runner.request();
      await clock.advance(0);
      assert.deepEqual([one.runs, other.runs], [1, 1], "no run waits for another");
      // One rests from 20 to 60, the other from 30 to 70.
      await clock.advance(10);
      one.runner.request();
      await clock.advance(49);
      assert.deepEqual([one.runs, other.runs], [1, 1]);
      await clock.advance(1);
      assert.deepEqual([one.runs, other.runs], [2, 1], "after the other's rest");
      await clock.advance(25);
      other.runner.request();
      await clock.advance(34);
      assert.deepEqual([one.runs, other.runs], [2, 1]);
      await clock.advance(1);
      assert.deepEqual([one.runs, other.runs], [2, 2], "an idle one too");
      await clock.advance(30);
      one.runner.force();
      await clock.advance(0);
      assert.deepEqual([one.runs, other.runs], [3, 2], "forced");
      await clock.advance(50);
    });
  });
});

Deno.test("changes that come one by one set no timers, and the loop leaves none behind", async () => {
  const clock = new FakeClock();
  const set: number[] = [];
  const after = clock.after.bind(clock);
  clock.after = (milliseconds, callback) => {
    set.push(milliseconds);
    return after(milliseconds, callback);
  };
  const times = { minMs: 0, retryMs: 5000, maxMs: 10_000 };
  await withRunner({ clock, times }, async (rig) => {
    for (let i = 1; i <= 5; i++) {
      await clock.advance(300);
      rig.runner.request();
      await clock.advance(0);
      assert.equal(rig.runs, i);
    }
    assert.deepEqual(set, [10_000]);
    // The end of the first alarm is too soon for a run of its own: the last one was 1.5 s later.
    await clock.advance(8_500);
    assert.equal(rig.runs, 5);
    assert.deepEqual(set, [10_000, 1_500]);
    await clock.advance(1_500);
    assert.equal(rig.runs, 6);
  });
  assert.equal(clock.sleepers, 0);
});
