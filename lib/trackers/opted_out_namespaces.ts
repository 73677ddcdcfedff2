import type { WatchBatch } from "../kube/object_batch.ts";
import type { Namespace } from "../kube/objects.ts";
import { foldBatch } from "./fold_batch.ts";

/** The names of the namespaces that asked to be left alone. */
export class OptedOutNamespaces {
  #names: ReadonlySet<string> = new Set();

  /** True when a namespace went out or came back. */
  apply(batch: WatchBatch<Namespace>): boolean {
    const names = new Set(this.#names);
    const changed = foldBatch(batch, {
      upsert: ({ name, optedOut }) => {
        if (optedOut === names.has(name)) return false;
        if (optedOut) names.add(name);
        else names.delete(name);
        return true;
      },
      remove: (_namespace, name) => names.delete(name),
      held: () => [...names].map((name) => ({ namespace: "", name })),
    });
    if (changed) this.#names = names;
    return changed;
  }

  /** A new set after each change; a set that was returned never changes. */
  get names(): ReadonlySet<string> {
    return this.#names;
  }
}
