/**
 * The seam between a source of objects and the trackers: an endless stream of batches per resource.
 * The apiserver and the manifests source are its two implementations.
 */
import type { ApiObject } from "../kube/objects.ts";

/** One object that appeared, changed or went. */
export type ObjectChange<T extends ApiObject> =
  | { readonly kind: "upsert"; readonly object: T }
  | { readonly kind: "delete"; readonly namespace: string; readonly name: string };

/**
 * `replace` is a complete state: what it does not hold is gone. With `namespace` it is complete for
 * that namespace alone. `changes` are in the order they happened.
 */
export type WatchBatch<T extends ApiObject> =
  | { readonly kind: "replace"; readonly objects: readonly T[]; readonly namespace?: string }
  | { readonly kind: "changes"; readonly changes: readonly ObjectChange<T>[] };

/**
 * Follows one resource. The first batch is a `replace`; the stream then goes on until the signal
 * aborts, through every fault that can pass: it resumes, lists again and backs off by itself.
 */
export interface Watcher<T extends ApiObject> {
  watch(signal: AbortSignal): AsyncIterable<WatchBatch<T>>;
}
