import assert from "node:assert/strict";
import type {
  ApiObject,
  EndpointSlice,
  Namespace,
  Node,
  Service,
  ServiceCIDR,
} from "../../../lib/kube/objects.ts";
import { follow } from "../../../lib/node/follow.ts";
import { Lifetime } from "../../../lib/node/lifetime.ts";
import { ClusterState } from "../../../lib/trackers/cluster_state.ts";
import type { WatchBatch, Watcher } from "../../../lib/watchers/watcher.ts";
import { settle } from "../../fakes/fake_clock.ts";

/** A watcher that yields what it is handed, and ends with the signal. */
class FedWatcher<T extends ApiObject> implements Watcher<T> {
  #next = Promise.withResolvers<WatchBatch<T>>();

  async feed(batch: WatchBatch<T>): Promise<void> {
    this.#next.resolve(batch);
    this.#next = Promise.withResolvers();
    await settle();
  }

  async *watch(signal: AbortSignal): AsyncGenerator<WatchBatch<T>> {
    const ended = new Promise<undefined>((resolve) =>
      signal.addEventListener("abort", () => resolve(undefined))
    );
    for (;;) {
      const batch = await Promise.race([this.#next.promise, ended]);
      if (!batch) return;
      yield batch;
    }
  }
}

const empty = { kind: "replace", objects: [] } as const;

function rig(namespaces?: Watcher<Namespace>) {
  const state = new ClusterState({
    families: ["IPv4"],
    nodeName: "node-a",
    nodeIPOverride: [],
    masqueradeAll: false,
    localTraffic: { kind: "none" },
    nodePortAddresses: [],
    startedMs: 0,
  });
  const source = {
    services: new FedWatcher<Service>(),
    endpointSlices: new FedWatcher<EndpointSlice>(),
    nodes: new FedWatcher<Node>(),
    serviceCIDRs: new FedWatcher<ServiceCIDR>(),
    ...(namespaces && { namespaces }),
  };
  const outside = new AbortController();
  const lifetime = new Lifetime(outside.signal);
  const seen: string[] = [];
  state.families.get("IPv4")?.onChange(() => seen.push("changed"));
  const completeness = follow({ source, state, lifetime, onNode: () => seen.push("node") });
  void completeness.completed.then(() => seen.push("completed"));
  return { source, completeness, seen, lifetime, outside };
}

Deno.test("follow() is complete once Services and EndpointSlices told their first state, and says so once", async () => {
  const { source, completeness, seen, outside, lifetime } = rig();
  await source.nodes.feed(empty);
  await source.serviceCIDRs.feed(empty);
  await source.services.feed(empty);
  assert.equal(completeness.isComplete, false);
  assert.deepEqual(seen.splice(0), ["node"]);
  await source.endpointSlices.feed(empty);
  assert.equal(completeness.isComplete, true);
  assert.deepEqual(seen.splice(0), ["changed", "completed"]);
  await source.services.feed(empty);
  assert.deepEqual(seen, []);
  outside.abort();
  await lifetime.finished();
});

Deno.test("follow() waits for the opted-out namespaces too where the source does not leave them out", async () => {
  const namespaces = new FedWatcher<Namespace>();
  const { source, completeness, outside, lifetime } = rig(namespaces);
  await source.services.feed(empty);
  await source.endpointSlices.feed(empty);
  assert.equal(completeness.isComplete, false);
  await namespaces.feed(empty);
  assert.equal(completeness.isComplete, true);
  outside.abort();
  await lifetime.finished();
});

Deno.test("follow() ends the lifetime with what a watcher throws", async () => {
  const { source, completeness, lifetime } = rig();
  const broken = {
    kind: "replace",
    get objects(): readonly never[] {
      throw new Error("cannot be read");
    },
  } as const;
  await source.services.feed(broken);
  assert.equal(lifetime.signal.aborted, true);
  assert.equal(completeness.isComplete, false);
  await assert.rejects(lifetime.finished(), /cannot be read/);
});
