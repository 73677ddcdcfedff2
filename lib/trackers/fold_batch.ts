import { assertNever } from "../base/assert_never.ts";
import { setOf } from "../base/list_of.ts";
import type { WatchBatch } from "../kube/object_batch.ts";
import type { ApiObject } from "../kube/objects.ts";

/** Takes one object in or out; each says whether that changed anything that matters. */
export interface ObjectFold<T extends ApiObject> {
  upsert(object: T): boolean;
  remove(namespace: string, name: string): boolean;
  /** What is held: all, or what one namespace has. */
  held(namespace?: string): Iterable<{ readonly namespace: string; readonly name: string }>;
}

/** Folds a batch, a complete state as the changes that lead to it. True when anything changed. */
export function foldBatch<T extends ApiObject>(batch: WatchBatch<T>, fold: ObjectFold<T>): boolean {
  switch (batch.kind) {
    case "changes": {
      let changed = false;
      for (const change of batch.changes) {
        const effective = change.kind === "upsert"
          ? fold.upsert(change.object)
          : fold.remove(change.namespace, change.name);
        changed = effective || changed;
      }
      return changed;
    }
    case "replace":
      return replaceAll(batch.objects, batch.namespace, fold);
    default:
      return assertNever(batch);
  }
}

function replaceAll<T extends ApiObject>(
  objects: readonly T[],
  namespace: string | undefined,
  fold: ObjectFold<T>,
): boolean {
  const wanted = new Map<string, Set<string>>();
  for (const { name, namespace } of objects) setOf(wanted, namespace).add(name);
  const gone = [...fold.held(namespace)].filter((held) =>
    !wanted.get(held.namespace)?.has(held.name)
  );
  let changed = false;
  for (const held of gone) changed = fold.remove(held.namespace, held.name) || changed;
  for (const object of objects) {
    if (namespace !== undefined && object.namespace !== namespace) continue;
    changed = fold.upsert(object) || changed;
  }
  return changed;
}
