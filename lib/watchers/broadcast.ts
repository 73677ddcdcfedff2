import type { WatchBatch } from "../kube/object_batch.ts";
import type { ApiObject } from "../kube/objects.ts";
import type { Watcher } from "./watcher.ts";

/** A Watcher fed by hand: each who watches gets the complete state first, then every batch sent. */
export class Broadcast<T extends ApiObject> implements Watcher<T> {
  readonly #current: () => readonly T[];
  readonly #queues = new Set<Queue<WatchBatch<T>>>();

  constructor(current: () => readonly T[]) {
    this.#current = current;
  }

  send(batch: WatchBatch<T>): void {
    for (const queue of this.#queues) queue.push(batch);
  }

  async *watch(signal: AbortSignal): AsyncIterable<WatchBatch<T>> {
    const queue = new Queue<WatchBatch<T>>();
    queue.push({ kind: "replace", objects: this.#current() });
    this.#queues.add(queue);
    const wake = () => queue.wake();
    signal.addEventListener("abort", wake);
    try {
      while (!signal.aborted) {
        for (const batch of queue.takeAll()) yield batch;
        if (!signal.aborted) await queue.filled();
      }
    } finally {
      signal.removeEventListener("abort", wake);
      this.#queues.delete(queue);
    }
  }
}

class Queue<V> {
  #items: V[] = [];
  #wake = Promise.withResolvers<void>();

  push(item: V): void {
    this.#items.push(item);
    this.#wake.resolve();
  }

  wake(): void {
    this.#wake.resolve();
  }

  takeAll(): readonly V[] {
    const items = this.#items;
    this.#items = [];
    this.#wake = Promise.withResolvers<void>();
    return items;
  }

  async filled(): Promise<void> {
    if (this.#items.length === 0) await this.#wake.promise;
  }
}
