/** What a source of objects says: complete states and changes. It stands here, below both who says it and who folds it. */
import type { ApiObject } from "./objects.ts";

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
