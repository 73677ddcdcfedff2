/** A source whose objects are kept as they pass, for checks that look at them beside the trackers. */
import type { WatchBatch } from "../kube/object_batch.ts";
import type { ApiObject } from "../kube/objects.ts";
import type { Source } from "../watchers/source.ts";
import type { Watcher } from "../watchers/watcher.ts";
import type { ClusterObjects } from "./cluster_objects.ts";

/**
 * The same source. `completed` resolves when each of its resources has told its first state, but for
 * ServiceCIDRs, which an apiserver may not have; `hasServiceCIDRs` when they have.
 */
export class CollectedSource implements Source {
  readonly services;
  readonly endpointSlices;
  readonly nodes;
  readonly serviceCIDRs;
  readonly namespaces?: Source["namespaces"];
  readonly completed: Promise<unknown>;
  readonly hasServiceCIDRs: Promise<void>;

  constructor(source: Source) {
    this.services = new Collected(source.services);
    this.endpointSlices = new Collected(source.endpointSlices);
    this.nodes = new Collected(source.nodes);
    this.serviceCIDRs = new Collected(source.serviceCIDRs);
    if (source.namespaces) this.namespaces = source.namespaces;
    const { endpointSlices, nodes, services } = this;
    this.completed = Promise.all([services, endpointSlices, nodes].map((each) => each.completed));
    this.hasServiceCIDRs = this.serviceCIDRs.completed;
  }

  /** What is known now. */
  get objects(): ClusterObjects {
    return {
      services: this.services.objects,
      endpointSlices: this.endpointSlices.objects,
      node: this.nodes.objects[0],
      serviceCIDRs: this.serviceCIDRs.objects,
    };
  }
}

class Collected<T extends ApiObject> implements Watcher<T> {
  readonly #watcher: Watcher<T>;
  readonly #objects = new Map<string, T>();
  readonly #completed = Promise.withResolvers<void>();

  constructor(watcher: Watcher<T>) {
    this.#watcher = watcher;
  }

  get completed(): Promise<void> {
    return this.#completed.promise;
  }

  get objects(): readonly T[] {
    return [...this.#objects.values()];
  }

  async *watch(signal: AbortSignal): AsyncIterable<WatchBatch<T>> {
    for await (const batch of this.#watcher.watch(signal)) {
      this.#keep(batch);
      yield batch;
      // Whoever follows has folded it when he comes for the next one.
      this.#completed.resolve();
    }
  }

  #keep(batch: WatchBatch<T>): void {
    if (batch.kind === "changes") {
      for (const change of batch.changes) {
        if (change.kind === "upsert") this.#objects.set(keyOf(change.object), change.object);
        else this.#objects.delete(keyOf(change));
      }
      return;
    }
    for (const [key, { namespace }] of this.#objects) {
      if (batch.namespace === undefined || batch.namespace === namespace) this.#objects.delete(key);
    }
    for (const object of batch.objects) this.#objects.set(keyOf(object), object);
  }
}

function keyOf({ name, namespace }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}
