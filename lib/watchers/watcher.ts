/**
 * The seam between a source of objects and the trackers: an endless stream of batches per resource.
 * The apiserver and the manifests source are its two implementations.
 */
import type { WatchBatch } from "../kube/object_batch.ts";
import type { ApiObject } from "../kube/objects.ts";

export type { ObjectChange, WatchBatch } from "../kube/object_batch.ts";

/**
 * Follows one resource. The first batch is a `replace`; the stream then goes on until the signal
 * aborts, through every fault that can pass: it resumes, lists again and backs off by itself.
 */
export interface Watcher<T extends ApiObject> {
  watch(signal: AbortSignal): AsyncIterable<WatchBatch<T>>;
}
