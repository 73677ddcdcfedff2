import assert from "node:assert/strict";
import type { Clock } from "../../../lib/base/clock.ts";
import { RepeatedFailureLog } from "../../../lib/base/repeated_failure.ts";
import type { ClientTiming } from "../../../lib/kube/client.ts";
import type { ServiceCIDR } from "../../../lib/kube/objects.ts";
import { serviceCIDRs } from "../../../lib/kube/resource.ts";
import {
  excludeNamespaces,
  type Exclusion,
  type ExclusionFeed,
} from "../../../lib/watchers/exclusion.ts";
import { ListWatch } from "../../../lib/watchers/list_watch.ts";
import { FakeApiserver, type FakeObject, refusal } from "../../fakes/apiserver.ts";
import { FakeClock } from "../../fakes/fake_clock.ts";
import { CollectingLog, createTestClient, Follower } from "../../fakes/kube_client.ts";

const resource = "servicecidrs";

interface Bench {
  readonly server: FakeApiserver;
  readonly follower: Follower<ServiceCIDR>;
  readonly log: CollectingLog;
  readonly clock: FakeClock;
}

interface BenchOptions {
  readonly exclusion?: ExclusionFeed;
  readonly optional?: boolean;
  readonly timing?: Partial<ClientTiming>;
  /** What the watch sees of the time. */
  readonly seen?: (clock: FakeClock) => Clock;
  /** Before anything is asked. */
  readonly prepare?: (server: FakeApiserver) => void;
}

/** Follows one resource of a fake server; the kind does not matter, so it is the smallest. */
async function withBench(
  options: BenchOptions,
  body: (bench: Bench) => Promise<void>,
): Promise<void> {
  await using server = await FakeApiserver.start();
  options.prepare?.(server);
  const clock = new FakeClock();
  const seen = options.seen?.(clock) ?? clock;
  const { client, transport } = createTestClient({
    url: server.url,
    caCertificate: server.authority.certificate,
    timing: options.timing,
    clock: seen,
  });
  const log = new CollectingLog();
  const stop = new AbortController();
  const watcher = new ListWatch({
    client,
    resource: serviceCIDRs,
    exclusion: options.exclusion,
    optional: options.optional,
    clock: seen,
    log,
    failures: new RepeatedFailureLog(log, seen),
  });
  const follower = new Follower(watcher.watch(stop.signal), clock);
  try {
    await body({ server, follower, log, clock });
  } finally {
    stop.abort();
    await follower.done;
    transport[Symbol.dispose]();
  }
}

function object(name: string, namespace = "a"): FakeObject {
  return { metadata: { name, namespace }, spec: { cidrs: ["172.30.0.0/16"] } };
}

const has = (follower: Follower<ServiceCIDR>, ...names: string[]) => () =>
  names.join() === follower.names.join();

const listsOf = (server: FakeApiserver) =>
  server.requests.filter(({ path, query }) => path.endsWith(resource) && !query.has("watch"));

Deno.test("ListWatch lists from the server's cache once, then follows changes in order", async () => {
  const prepare = (server: FakeApiserver) => server.put(resource, object("one"));
  await withBench({ prepare }, async ({ server, follower }) => {
    await follower.until("the first state", has(follower, "a/one"));
    server.put(resource, object("two"));
    server.delete(resource, { namespace: "a", name: "one" });
    await follower.until("both changes", has(follower, "a/two"));
    assert.equal(follower.batches[0].kind, "replace");
    assert.deepEqual(listsOf(server).map(({ query }) => query.get("resourceVersion")), ["0"]);
  });
});

const unreachable = /^error: The apiserver is not reachable/;

/** Each row breaks the watch; afterwards a change made meanwhile must arrive. */
const faults: readonly {
  readonly name: string;
  readonly timing?: Partial<ClientTiming>;
  readonly hurt: (server: FakeApiserver) => Promise<void> | void;
  readonly heal?: (server: FakeApiserver) => void;
  /** Lists in all; one where the watch could be resumed. */
  readonly lists: number;
  /** The lines of the log; where not given, that the apiserver is not reachable. */
  readonly says?: readonly RegExp[];
}[] = [
  { name: "the server ends the watch", hurt: (server) => server.cutWatches(), lists: 1 },
  {
    name: "the connection is reset",
    hurt: (server) => server.cutWatches(new Error("reset")),
    lists: 1,
  },
  {
    name: "the watch is cut in the middle of an event",
    hurt: (server) => {
      server.sendRaw(resource, '{"type":"ADDED","object":{"metadata":{"na');
      server.cutWatches();
    },
    lists: 1,
  },
  {
    name: "the server dies and comes back",
    hurt: (server) => server.stop(),
    heal: (server) => server.listen(),
    lists: 1,
  },
  {
    name: "the version is too old, as an HTTP status",
    hurt: (server) => {
      server.cutWatches();
      server.put(resource, object("late"));
      server.compact();
    },
    lists: 2,
  },
  {
    name: "the version is too old, as an event",
    hurt: (server) => {
      const status = { kind: "Status", code: 410, reason: "Expired", message: "too old" };
      server.sendRaw(resource, `${JSON.stringify({ type: "ERROR", object: status })}\n`);
    },
    lists: 2,
    says: [],
  },
  {
    name: "429 with Retry-After",
    hurt: (server) => {
      let left = 2;
      server.override = ({ query }) =>
        query.has("watch") && left-- > 0
          ? refusal({ code: 429, reason: "TooManyRequests", message: "later" }, {
            "retry-after": "1",
          })
          : undefined;
      server.cutWatches();
    },
    lists: 1,
    says: [unreachable, /Cannot follow a resource, .*later/],
  },
  {
    name: "500 for a while",
    hurt: (server) => {
      let left = 3;
      server.override = ({ query }) =>
        query.has("watch") && left-- > 0
          ? refusal({ code: 500, reason: "InternalError", message: "oh" })
          : undefined;
      server.cutWatches();
    },
    lists: 1,
    says: [unreachable, /Cannot follow a resource, .*oh/],
  },
  {
    name: "a proxy answers with a page",
    hurt: (server) => {
      let left = 2;
      server.override = () =>
        left-- > 0
          ? new Response("<html>", { headers: { "content-type": "text/html" } })
          : undefined;
      server.cutWatches();
    },
    lists: 1,
  },
  {
    name: "garbage in the stream",
    hurt: (server) => server.sendRaw(resource, "this is no event\n"),
    lists: 1,
    says: [/Cannot follow a resource, .*SyntaxError/],
  },
  {
    name: "the connection falls silent and nobody answers on it",
    timing: { connectionSilenceMs: 200 },
    hurt: (server) => {
      let asked = false;
      // The question whether anybody is there is never answered.
      server.override = ({ path }) => {
        if (path !== "/version" || asked) return undefined;
        asked = true;
        return Promise.withResolvers<Response>().promise;
      };
      server.silenceWatches();
    },
    lists: 1,
  },
  {
    name: "one watch falls silent although the connection lives",
    timing: { watchSilenceMs: 300, connectionSilenceMs: 200 },
    hurt: (server) => server.silenceWatches(),
    lists: 1,
  },
  {
    name: "the server's data goes back to an older backup",
    hurt: (server) => {
      server.restoreOldBackup();
      server.bookmark(resource);
      server.silenceWatches();
      server.put(resource, object("one"));
    },
    lists: 2,
    says: [],
  },
];

for (const { name, timing, hurt, heal, lists, says = [unreachable] } of faults) {
  Deno.test(`ListWatch goes on when ${name}`, async () => {
    const prepare = (server: FakeApiserver) => server.put(resource, object("one"));
    await withBench({ prepare, timing }, async ({ server, follower, log }) => {
      await follower.until("the first state", has(follower, "a/one"));
      await follower.until("the watch", () => server.openWatches.length === 1);
      await hurt(server);
      server.put(resource, object("late"));
      heal?.(server);
      await follower.until("the change", has(follower, "a/late", "a/one"), 15_000);
      assert.equal(listsOf(server).length, lists);
      const said = log.lines.join("\n");
      assert.equal(log.lines.length, says.length, said);
      for (const [i, line] of log.lines.entries()) assert.match(line, says[i]);
    });
  });
}

Deno.test("ListWatch says an outage once, and asks again within two seconds for as long as it lasts", async () => {
  await withBench({}, async ({ server, follower, log, clock }) => {
    await follower.until("the first state", () => follower.batches.length === 1);
    await follower.until("the watch", () => server.openWatches.length === 1);
    await server.stop();
    for (let second = 0; second < 30; second++) await clock.advance(1_000);
    server.listen();
    const started = clock.monotonic();
    server.put(resource, object("late"));
    await follower.until("the change", has(follower, "a/late"));
    assert.ok(clock.monotonic() - started < 2_000);
    const errors = log.lines.filter((line) => line.startsWith("error"));
    assert.equal(errors.length, 1, log.lines.join());
    assert.match(errors[0], /not reachable, going on with what is known/);
  });
});

Deno.test("ListWatch does not claim to know anything before its first list", async () => {
  const prepare = (server: FakeApiserver) => {
    server.override = () => refusal({ code: 500, reason: "No", message: "no" });
  };
  await withBench({ prepare }, async ({ server, follower, log }) => {
    await follower.until("the complaint", () => log.lines.length > 0);
    assert.match(log.lines[0], /Cannot follow a resource, trying again/);
    server.override = undefined;
    await follower.until("the first state", () => follower.batches.length === 1);
  });
});

Deno.test("ListWatch does not care about a clock that jumps by a day, there and back", async () => {
  let aheadMs = 0;
  const seen = (clock: FakeClock): Clock => ({
    now: () => clock.now() + aheadMs,
    monotonic: () => clock.monotonic(),
    sleep: (milliseconds, signal) => clock.sleep(milliseconds, signal),
    after: (milliseconds, callback) => clock.after(milliseconds, callback),
  });
  await withBench({ seen }, async ({ server, follower, log }) => {
    await follower.until("the watch", () => server.openWatches.length === 1);
    for (const [i, jumpMs] of [86_400_000, -86_400_000, 0].entries()) {
      aheadMs = jumpMs;
      server.put(resource, object(`on-${i}`));
      await follower.until("a change", () => follower.objects.has(`a/on-${i}`));
      server.cutWatches(new Error("reset"));
      server.put(resource, object(`after-${i}`));
      await follower.until("a change", () => follower.objects.has(`a/after-${i}`), 3_000);
    }
    assert.equal(listsOf(server).length, 1);
    assert.equal(log.lines.length, 1, log.lines.join("\n"));
  });
});

Deno.test("ListWatch lists anew what cannot be read twice, and nothing older than it held", async () => {
  const prepare = (server: FakeApiserver) => server.put(resource, object("one"));
  await withBench({ prepare }, async ({ server, follower }) => {
    await follower.until("the watch", () => server.openWatches.length === 1);
    const held = server.version;
    for (let times = 0; times < 2; times++) {
      await follower.until("a watch", () => server.openWatches.length === 1);
      server.sendRaw(resource, "this is no event\n");
      await follower.until("its end", () => server.openWatches.length === 0);
    }
    await follower.until("a second list", () => listsOf(server).length === 2);
    const versions = listsOf(server).map(({ query }) => query.get("resourceVersion"));
    assert.deepEqual(versions, ["0", held]);
  });
});

Deno.test("ListWatch goes on from bookmarks", async () => {
  await withBench({}, async ({ server, follower }) => {
    await follower.until("the watch", () => server.openWatches.length === 1);
    server.put("elsewhere", object("other"));
    server.bookmark(resource);
    const version = server.version;
    // Every byte that arrived is decoded before the end of the stream is seen.
    server.cutWatches();
    await follower.until("a second watch", () => server.openWatches.length === 1);
    assert.equal(server.openWatches[0].query.get("resourceVersion"), version);
  });
});

for (const code of [403, 404]) {
  Deno.test(`ListWatch takes ${code} for an optional resource as an empty state, said once`, async () => {
    const prepare = (server: FakeApiserver) => {
      server.override = () => refusal({ code, reason: "No", message: "no" });
    };
    await withBench({ prepare, optional: true }, async ({ follower, log }) => {
      await follower.until("the empty state", () => follower.batches.length === 1);
      assert.deepEqual(follower.batches, [{ kind: "replace", objects: [] }]);
      assert.equal(log.lines.length, 1);
      assert.match(log.lines[0], /servicecidrs/);
    });
  });
}

Deno.test("ListWatch keeps an optional resource's last state when it is forbidden later", async () => {
  const prepare = (server: FakeApiserver) => server.put(resource, object("one"));
  await withBench({ prepare, optional: true }, async ({ server, follower }) => {
    await follower.until("the watch", () => server.openWatches.length === 1);
    server.override = () => refusal({ code: 403, reason: "Forbidden", message: "no" });
    server.cutWatches();
    const refused = server.requests.length;
    await follower.until("two refusals", () => server.requests.length >= refused + 2);
    assert.deepEqual(follower.names, ["a/one"]);
    server.override = undefined;
    server.put(resource, object("late"));
    await follower.until("the change", has(follower, "a/late", "a/one"));
  });
});

/** A set of namespaces that a test changes by hand. */
class TestFeed implements ExclusionFeed {
  current: Exclusion;
  #changed = Promise.withResolvers<void>();

  constructor(...names: readonly string[]) {
    this.current = excludeNamespaces(names);
  }

  set(...names: readonly string[]): void {
    this.current = excludeNamespaces(names);
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }

  ready(): Promise<void> {
    return Promise.resolve();
  }

  async changedFrom(known: Exclusion, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => resolve(), { once: true });
    while (!signal.aborted && known.all.join() === this.current.all.join()) {
      await Promise.race([this.#changed.promise, promise]);
    }
  }
}

const threeNamespaces = (server: FakeApiserver) => {
  for (const namespace of ["a", "b", "c"]) server.put(resource, object("one", namespace));
};

Deno.test("ListWatch drops a namespace that goes out without any list", async () => {
  const exclusion = new TestFeed();
  await withBench({ exclusion, prepare: threeNamespaces }, async ({ server, follower }) => {
    await follower.until("the watch", () => server.openWatches.length === 1);
    exclusion.set("b");
    await follower.until("b is gone", has(follower, "a/one", "c/one"));
    await follower.until(
      "the new watch",
      () =>
        server.openWatches.some(({ query }) =>
          query.get("fieldSelector") === "metadata.namespace!=b"
        ),
    );
    server.put(resource, object("two", "b"));
    server.put(resource, object("two", "c"));
    await follower.until("c's change alone", has(follower, "a/one", "c/one", "c/two"));
    assert.equal(listsOf(server).length, 1);
  });
});

Deno.test("ListWatch lists only the namespace that comes back, and misses nothing meanwhile", async () => {
  const exclusion = new TestFeed("b");
  await withBench({ exclusion, prepare: threeNamespaces }, async ({ server, follower }) => {
    await follower.until("all but b", has(follower, "a/one", "c/one"));
    await follower.until("the watch", () => server.openWatches.length === 1);
    server.put(resource, object("early", "b"));
    let refusals = 2;
    server.override = ({ path }) => {
      if (!path.includes("/namespaces/b/")) return undefined;
      // The other namespaces go on changing while the list of this one fails, and after it.
      server.put(resource, object(`during-${refusals}`, "a"));
      if (refusals-- > 0) return refusal({ code: 500, reason: "InternalError", message: "oh" });
      return undefined;
    };
    exclusion.set();
    await follower.until("b came back", () => follower.objects.has("b/early"));
    server.put(resource, object("late", "b"));
    server.put(resource, object("late", "a"));
    await follower.until(
      "everything",
      has(
        follower,
        ...["a/during-0", "a/during-1", "a/during-2", "a/late", "a/one"],
        ...["b/early", "b/late", "b/one", "c/one"],
      ),
    );
    const lists = listsOf(server).map(({ path }) => path);
    assert.equal(lists.filter((path) => !path.includes("/namespaces/")).length, 1);
    const seen = follower.batches.flatMap((batch) =>
      batch.kind === "changes" ? batch.changes.map((change) => JSON.stringify(change)) : []
    );
    assert.equal(new Set(seen).size, seen.length, "a change came twice");
  });
});

Deno.test("ListWatch leaves 150 of 2,000 namespaces out at the server and the others by itself", async () => {
  const many = Array.from({ length: 2_000 }, (_, i) => `n-${String(i).padStart(4, "0")}`);
  const exclusion = new TestFeed(...many);
  const prepare = (server: FakeApiserver) => {
    for (const namespace of ["a", ...many]) server.put(resource, object("one", namespace));
  };
  await withBench({ exclusion, prepare }, async ({ server, follower }) => {
    await follower.until("a alone", has(follower, "a/one"));
    await follower.until("the watch", () => server.openWatches.length === 1);
    const [list] = listsOf(server);
    assert.equal(list.query.get("fieldSelector")?.split(",").length, 150);
    server.put(resource, object("two", "n-1999"));
    server.put(resource, object("two", "a"));
    await follower.until("a's change alone", has(follower, "a/one", "a/two"));
    exclusion.set(...many.slice(0, 1_999));
    await follower.until("n-1999 came back", () => follower.objects.has("n-1999/two"));
    assert.equal(listsOf(server).length, 2);
  });
});

Deno.test("ListWatch takes many namespaces back with one list, and misses nothing meanwhile", async () => {
  const many = Array.from({ length: 100 }, (_, i) => `n-${String(i).padStart(3, "0")}`);
  const exclusion = new TestFeed(...many);
  const prepare = (server: FakeApiserver) => {
    // One of them is empty.
    for (const namespace of ["a", ...many.slice(0, 99)]) {
      server.put(resource, object("one", namespace));
    }
  };
  await withBench({ exclusion, prepare }, async ({ server, follower }) => {
    await follower.until("a alone", has(follower, "a/one"));
    await follower.until("the watch", () => server.openWatches.length === 1);
    const before = listsOf(server).length;
    server.override = ({ path, query }) => {
      if (path.endsWith(resource) && !query.has("watch")) {
        server.override = undefined;
        server.put(resource, object("during", "a"));
        server.put(resource, object("during", "n-001"));
      }
      return undefined;
    };
    exclusion.set("n-000");
    await follower.until("all but n-000", () => follower.objects.size === 1 + 98 + 2);
    server.put(resource, object("late", "n-099"));
    await follower.until("a change in one of them", () => follower.objects.has("n-099/late"));
    assert.ok(!follower.objects.has("n-000/one"));
    assert.equal(listsOf(server).length, before + 1);
    const empty = follower.batches.find((batch) =>
      batch.kind === "replace" && batch.namespace === "n-099"
    );
    assert.deepEqual(empty, { kind: "replace", namespace: "n-099", objects: [] });
    assert.equal(follower.batches.filter((b) => b.kind === "replace" && !b.namespace).length, 1);
  });
});

Deno.test("ListWatch survives a set that flaps, with one watch in the end", async () => {
  const exclusion = new TestFeed();
  await withBench({ exclusion, prepare: threeNamespaces }, async ({ server, follower, clock }) => {
    await follower.until("the watch", () => server.openWatches.length === 1);
    for (let i = 0; i < 20; i++) {
      exclusion.set(...(i % 2 === 0 ? ["a", "b"] : ["b"]));
      server.put(resource, object(`flap-${i}`, "a"));
      await clock.advance(i % 5);
    }
    exclusion.set("c");
    server.put(resource, object("last", "a"));
    await follower.until(
      "the end",
      () =>
        follower.objects.has("a/last") && follower.objects.has("a/flap-19") &&
        follower.objects.has("b/one") && !follower.objects.has("c/one"),
    );
    await follower.until("one watch", () => server.openWatches.length === 1);
    assert.equal(follower.objects.size, 23);
  });
});
