/**
 * Tests for a runtime with --v8-flags=--expose-gc; `garbage_collection_test.ts` runs them.
 * The runtime forgets abort signals that only listeners know: a request's own, and those of
 * AbortSignal.any. Whoever waits must not depend on such a signal after the garbage was collected.
 */
import assert from "node:assert/strict";
import { systemClock as clock } from "../../../lib/base/clock.ts";
import { RepeatedFailureLog } from "../../../lib/base/repeated_failure.ts";
import { services } from "../../../lib/kube/resource.ts";
import {
  excludeNamespaces,
  type Exclusion,
  type ExclusionFeed,
} from "../../../lib/watchers/exclusion.ts";
import { ListWatch } from "../../../lib/watchers/list_watch.ts";
import { FakeApiserver } from "../../fakes/apiserver.ts";
import { CollectingLog, createTestClient, Follower } from "../../fakes/kube_client.ts";

/** The runtime's own collector, which `--v8-flags=--expose-gc` shows. */
declare const gc: () => void;

async function collectGarbage(): Promise<void> {
  for (let times = 0; times < 3; times++) {
    gc();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** A feed that changes when told to, and never lets go of whoever waits. */
class ManualFeed implements ExclusionFeed {
  current = excludeNamespaces([]);
  readonly #changed = Promise.withResolvers<void>();

  ready(): Promise<void> {
    return Promise.resolve();
  }

  async changedFrom(known: Exclusion, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => resolve());
    await Promise.race(known.all.length > 0 ? [promise] : [promise, this.#changed.promise]);
  }

  change(names: readonly string[]): void {
    this.current = excludeNamespaces(names);
    this.#changed.resolve();
  }
}

async function following(
  feed: ExclusionFeed | undefined,
  body: (
    server: FakeApiserver,
    follower: Follower<{ namespace: string; name: string; resourceVersion: string }>,
  ) => Promise<void>,
): Promise<void> {
  await using server = await FakeApiserver.start();
  server.put("services", { metadata: { namespace: "shop", name: "cart" } });
  const { client, transport } = createTestClient({
    url: server.url,
    caCertificate: server.authority.certificate,
    contentType: "application/json",
  });
  const log = new CollectingLog();
  const stop = new AbortController();
  const watcher = new ListWatch({
    client,
    resource: services,
    ...(feed ? { exclusion: feed } : {}),
    clock,
    log,
    failures: new RepeatedFailureLog(log, clock),
  });
  const follower = new Follower(watcher.watch(stop.signal));
  await follower.until("the first state", () => follower.batches.length > 0);
  await follower.until("a watch", () => server.openWatches.length > 0);
  // Whatever the watch needs while it waits is waiting now.
  server.bookmark("services");
  await clock.sleep(50);
  await collectGarbage();
  try {
    await body(server, follower);
  } finally {
    await collectGarbage();
    stop.abort();
    const late = Promise.withResolvers<string>();
    const timer = setTimeout(() => late.resolve("late"), 3_000);
    assert.notEqual(await Promise.race([follower.done, late.promise]), "late", "it ends when told");
    clearTimeout(timer);
    transport[Symbol.dispose]();
  }
}

Deno.test("a watch that waited for long goes on after its end", async () => {
  await following(undefined, async (server, follower) => {
    server.cutWatches();
    server.put("services", { metadata: { namespace: "shop", name: "later" } });
    await follower.until("the change", () => follower.objects.has("shop/later"), 3_000);
  });
});

Deno.test("a watch that waited for long follows another set of namespaces", async () => {
  const feed = new ManualFeed();
  await following(feed, async (_server, follower) => {
    feed.change(["shop"]);
    await follower.until("the namespace gone", () => follower.objects.size === 0, 3_000);
  });
});
