import assert from "node:assert/strict";
import { CollectedSource } from "../../../lib/doctor/collected_source.ts";
import type { WatchBatch } from "../../../lib/kube/object_batch.ts";
import type { ApiObject, Namespace, Node, ServiceCIDR } from "../../../lib/kube/objects.ts";
import type { Source } from "../../../lib/watchers/source.ts";
import type { Watcher } from "../../../lib/watchers/watcher.ts";

const { signal } = new AbortController();

function watcherOf<T extends ApiObject>(...batches: readonly WatchBatch<T>[]): Watcher<T> {
  return {
    async *watch() {
      for (const batch of batches) yield await Promise.resolve(batch);
    },
  };
}

const range = (namespace: string, name: string): ServiceCIDR => ({
  namespace,
  name,
  resourceVersion: "1",
  cidrs: [],
});
const replace = <T extends ApiObject>(...objects: readonly T[]): WatchBatch<T> => ({
  kind: "replace",
  objects,
});

function sourceOf(serviceCIDRs: Watcher<ServiceCIDR>, rest: Partial<Source> = {}): Source {
  return {
    services: watcherOf(replace()),
    endpointSlices: watcherOf(replace()),
    nodes: watcherOf(replace()),
    serviceCIDRs,
    ...rest,
  };
}

async function drain<T extends ApiObject>(watcher: Watcher<T>): Promise<WatchBatch<T>[]> {
  return await Array.fromAsync(watcher.watch(signal));
}

Deno.test("objects are kept as they pass, and the batches go on as they came", async () => {
  const batches: readonly WatchBatch<ServiceCIDR>[] = [
    replace(range("a", "1"), range("b", "2"), range("b", "3")),
    {
      kind: "changes",
      changes: [
        { kind: "upsert", object: range("c", "4") },
        { kind: "delete", namespace: "a", name: "1" },
      ],
    },
    { kind: "replace", objects: [range("b", "5")], namespace: "b" },
  ];
  const source = new CollectedSource(sourceOf(watcherOf(...batches)));
  assert.deepEqual(await drain(source.serviceCIDRs), batches);
  assert.deepEqual(source.objects.serviceCIDRs, [range("c", "4"), range("b", "5")]);
});

Deno.test("a whole state takes the place of all that was known", async () => {
  const source = new CollectedSource(
    sourceOf(watcherOf(replace(range("a", "1")), replace(range("a", "2")))),
  );
  await drain(source.serviceCIDRs);
  assert.deepEqual(source.objects.serviceCIDRs, [range("a", "2")]);
});

Deno.test("it is complete when each resource has told its state, but for ServiceCIDRs", async () => {
  const source = new CollectedSource(sourceOf(watcherOf(replace())));
  const told: string[] = [];
  source.completed.then(() => told.push("all"));
  source.hasServiceCIDRs.then(() => told.push("ranges"));
  await drain(source.services);
  await drain(source.endpointSlices);
  assert.deepEqual(told, []);
  await drain(source.nodes);
  await source.completed;
  assert.deepEqual(told, ["all"]);
  await drain(source.serviceCIDRs);
  await source.hasServiceCIDRs;
  assert.deepEqual(told, ["all", "ranges"]);
});

Deno.test("the node of the source is kept, and names of namespaces pass by", async () => {
  const node: Node = {
    namespace: "",
    name: "node-a",
    resourceVersion: "1",
    addresses: [],
    podCIDRs: [],
    zone: "",
    taintKeys: [],
    deleting: false,
  };
  const namespaces = watcherOf<Namespace>();
  const source = new CollectedSource(
    sourceOf(watcherOf(), { nodes: watcherOf(replace(node)), namespaces }),
  );
  assert.equal(source.objects.node, undefined);
  await drain(source.nodes);
  assert.deepEqual(source.objects.node, node);
  assert.equal(source.namespaces, namespaces);
  assert.equal(new CollectedSource(sourceOf(watcherOf())).namespaces, undefined);
});
