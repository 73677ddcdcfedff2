import assert from "node:assert/strict";
import type { WatchBatch } from "../../../lib/kube/object_batch.ts";
import type { Namespace } from "../../../lib/kube/objects.ts";
import { noExclusion } from "../../../lib/watchers/exclusion.ts";
import { OptOutFeed } from "../../../lib/watchers/opt_out.ts";
import { FakeClock } from "../../fakes/fake_clock.ts";

/** Namespaces that the test hands out by and by. */
class HandFed {
  readonly #waiting: WatchBatch<Namespace>[] = [];
  #wake = Promise.withResolvers<void>();

  give(batch: WatchBatch<Namespace>): void {
    this.#waiting.push(batch);
    this.#wake.resolve();
  }

  async *watch(): AsyncGenerator<WatchBatch<Namespace>> {
    for (;;) {
      for (let batch = this.#waiting.shift(); batch; batch = this.#waiting.shift()) yield batch;
      this.#wake = Promise.withResolvers<void>();
      await this.#wake.promise;
    }
  }
}

const optedOut = (name: string): Namespace => ({
  namespace: "",
  name,
  resourceVersion: "1",
  optedOut: true,
});
const goesOut = (name: string): WatchBatch<Namespace> => ({
  kind: "changes",
  changes: [{ kind: "upsert", object: optedOut(name) }],
});
const comesBack = (name: string): WatchBatch<Namespace> => ({
  kind: "changes",
  changes: [{ kind: "delete", namespace: "", name }],
});

function start({ random = 0 } = {}) {
  const clock = new FakeClock();
  const namespaces = new HandFed();
  const seen = { namespaces: -1, filteredLocally: -1 };
  const feed = new OptOutFeed({
    namespaces,
    clock,
    delayMs: 1_000,
    random: () => random,
    metrics: {
      namespaces: { set: (value) => seen.namespaces = value },
      filteredLocally: { set: (value) => seen.filteredLocally = value },
    },
  });
  const { signal } = new AbortController();
  feed.run(signal);
  return { clock, namespaces, feed, signal, seen };
}

/** Lets everything run that waits for nothing but its turn. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 0));

Deno.test("OptOutFeed is ready with its first state, at once", async () => {
  const { feed, namespaces, signal, seen } = start();
  namespaces.give({ kind: "replace", objects: [optedOut("b"), optedOut("a")] });
  await feed.ready(signal);
  assert.deepEqual(feed.current.all, ["a", "b"]);
  assert.deepEqual(seen, { namespaces: 2, filteredLocally: 0 });
});

Deno.test("OptOutFeed is ready without an answer after 5 s, and filters when it comes", async () => {
  const { clock, feed, namespaces, signal } = start();
  const ready = feed.ready(signal);
  await settle();
  await clock.advance(5_000);
  await ready;
  assert.deepEqual(feed.current.all, []);
  namespaces.give({ kind: "replace", objects: [optedOut("a")] });
  await feed.changedFrom(noExclusion, signal);
  assert.deepEqual(feed.current.all, ["a"]);
});

Deno.test("OptOutFeed gathers changes, and is not starved by a label that flaps", async () => {
  const { clock, feed, namespaces, signal } = start();
  namespaces.give({ kind: "replace", objects: [] });
  await feed.ready(signal);
  namespaces.give(goesOut("steady"));
  for (let i = 0; i < 9; i++) {
    namespaces.give(i % 2 === 0 ? goesOut("flapping") : comesBack("flapping"));
    await settle();
    await clock.advance(100);
    assert.deepEqual(feed.current.all, [], `after ${i} changes`);
  }
  await clock.advance(100);
  await settle();
  assert.deepEqual(feed.current.all, ["flapping", "steady"]);
});

Deno.test("OptOutFeed says nothing of a change that was taken back meanwhile", async () => {
  const { clock, feed, namespaces, signal } = start();
  namespaces.give({ kind: "replace", objects: [] });
  await feed.ready(signal);
  const before = feed.current;
  namespaces.give(goesOut("a"));
  await settle();
  namespaces.give(comesBack("a"));
  await settle();
  await clock.advance(2_000);
  await settle();
  assert.equal(feed.current, before);
});

Deno.test("OptOutFeed lets a namespace in that came back while its watch was lost", async () => {
  const { clock, feed, namespaces, signal, seen } = start();
  namespaces.give({ kind: "replace", objects: [optedOut("a"), optedOut("b")] });
  await feed.ready(signal);
  namespaces.give({ kind: "replace", objects: [optedOut("b"), optedOut("c")] });
  await settle();
  await clock.advance(1_000);
  await settle();
  assert.deepEqual(feed.current.all, ["b", "c"]);
  assert.equal(seen.namespaces, 2);
});

Deno.test("OptOutFeed goes by the label, whatever a watch says besides", async () => {
  const { clock, feed, namespaces, signal } = start();
  const served = { ...optedOut("served"), optedOut: false };
  namespaces.give({ kind: "replace", objects: [optedOut("a"), served] });
  await feed.ready(signal);
  assert.deepEqual(feed.current.all, ["a"]);
  const object = { ...optedOut("a"), optedOut: false };
  namespaces.give({ kind: "changes", changes: [{ kind: "upsert", object }] });
  await settle();
  await clock.advance(1_000);
  await settle();
  assert.deepEqual(feed.current.all, []);
});

Deno.test("OptOutFeed takes up to half of its time again, other on each node", async () => {
  const { clock, feed, namespaces, signal } = start({ random: 0.8 });
  namespaces.give({ kind: "replace", objects: [] });
  await feed.ready(signal);
  namespaces.give(goesOut("a"));
  await settle();
  await clock.advance(1_399);
  assert.deepEqual(feed.current.all, []);
  await clock.advance(1);
  await settle();
  assert.deepEqual(feed.current.all, ["a"]);
});
