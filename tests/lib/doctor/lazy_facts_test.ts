import assert from "node:assert/strict";
import { LazyFacts } from "../../../lib/doctor/lazy_facts.ts";
import { FakeClock, settle } from "../../fakes/fake_clock.ts";
import { known, readersOf } from "./facts_in_memory.ts";

const ranges = known(["route 172.30.0.0/16 by eth0"]);
const { signal } = new AbortController();

Deno.test("a fact is read when it is asked for, and once", async () => {
  let reads = 0;
  const read = () => {
    reads++;
    return ranges;
  };
  const facts = new LazyFacts(readersOf({ serviceRanges: { read } }), {
    clock: new FakeClock(),
    signal,
  });
  assert.equal(reads, 0);
  const both = await Promise.all([facts.read("serviceRanges"), facts.read("serviceRanges")]);
  assert.deepEqual(both, [ranges, ranges]);
  assert.deepEqual(await facts.read("serviceRanges"), ranges);
  assert.equal(reads, 1);
});

Deno.test("a fact whose reader throws is unknown, with the error", async () => {
  const clock = new FakeClock();
  const read = () => {
    throw new Error("half a line in /proc/x.");
  };
  const facts = new LazyFacts(readersOf({ serviceRanges: { read } }), { clock, signal });
  const unknown = { kind: "unknown", because: "half a line in /proc/x" } as const;
  assert.deepEqual(await facts.read("serviceRanges"), unknown);
  assert.equal(clock.sleepers, 0, "no timer is left");
});

Deno.test("a fact that hangs is unknown after its time, and its reader is told to stop", async () => {
  const clock = new FakeClock();
  const stopped: string[] = [];
  const hanging = (name: string) => ({ signal }: { readonly signal: AbortSignal }) =>
    new Promise<never>(() => signal.addEventListener("abort", () => stopped.push(name)));
  const facts = new LazyFacts(
    readersOf({
      serviceRanges: { read: hanging("usual") },
      foundMode: { timeoutMs: 60_000, read: hanging("long") },
    }),
    { clock, signal },
  );
  const usual = facts.read("serviceRanges");
  const long = facts.read("foundMode");
  await clock.advance(9_999);
  assert.deepEqual(stopped, []);
  await clock.advance(1);
  assert.deepEqual(await usual, { kind: "unknown", because: "no answer in 10 s" });
  assert.deepEqual(stopped, ["usual"]);
  await clock.advance(50_000);
  assert.deepEqual(await long, { kind: "unknown", because: "no answer in 60 s" });
});

Deno.test("a fact can be made of others", async () => {
  const facts = new LazyFacts(
    readersOf({
      serviceRanges: { read: () => ranges },
      foundMode: {
        read: async ({ facts }) => {
          const { kind } = await facts.read("serviceRanges");
          return { kind: "absent", because: kind };
        },
      },
    }),
    { clock: new FakeClock(), signal },
  );
  assert.deepEqual(await facts.read("foundMode"), { kind: "absent", because: "value" });
});

Deno.test("stopping ends what is being read", async () => {
  const stop = new AbortController();
  const facts = new LazyFacts(
    readersOf({ serviceRanges: { read: () => new Promise<never>(() => {}) } }),
    { clock: new FakeClock(), signal: stop.signal },
  );
  const reading = facts.read("serviceRanges");
  await settle();
  stop.abort();
  const unknown = { kind: "unknown", because: "stopped before it was read" } as const;
  assert.deepEqual(await reading, unknown);
});
