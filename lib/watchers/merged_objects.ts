import { deepEqual } from "../base/deep_equal.ts";
import type { ObjectChange } from "../kube/object_batch.ts";
import type { ApiObject } from "../kube/objects.ts";

/** One object that two places of the files give. */
export interface DuplicateObject {
  readonly namespace: string;
  readonly name: string;
  /** The file whose object counts. */
  readonly used: string;
  readonly unused: string;
}

/** What giving a file new objects did. */
export interface MergeResult<T extends ApiObject> {
  readonly changes: readonly ObjectChange<T>[];
  /** Each pair of files is told once for an object. */
  readonly duplicates: readonly DuplicateObject[];
}

interface Holder<T> {
  readonly file: string;
  readonly object: T;
}

/**
 * The objects of one kind out of many files. Of several with one name the one of the last file, by
 * name of the file, counts. Replacing a file's objects costs what that file holds.
 */
export class MergedObjects<T extends ApiObject> {
  readonly #holders = new Map<string, Holder<T>[]>();
  readonly #files = new Map<string, ReadonlyMap<string, T>>();
  readonly #said = new Set<string>();

  /** An empty list is a file that is gone. */
  setFile(file: string, objects: readonly T[]): MergeResult<T> {
    const duplicates: DuplicateObject[] = [];
    const after = new Map<string, T>();
    for (const object of objects) {
      const key = keyOf(object);
      if (after.has(key)) this.#sayOnce(duplicates, { object, used: file, unused: file });
      after.set(key, object);
    }
    const before = this.#files.get(file) ?? new Map<string, T>();
    if (after.size > 0) this.#files.set(file, after);
    else this.#files.delete(file);
    const changes: ObjectChange<T>[] = [];
    for (const [key, object] of before) {
      if (!after.has(key)) this.#hold(key, { file, object: undefined, of: object, changes });
    }
    for (const [key, object] of after) {
      const holders = this.#hold(key, { file, object, of: object, changes });
      for (const other of holders) {
        if (other.file === file) continue;
        const used = holders[holders.length - 1].file;
        const unused = used === file ? other.file : file;
        this.#sayOnce(duplicates, { object, used, unused });
      }
    }
    return { changes, duplicates };
  }

  /** Those that count, of one namespace or of all. */
  *values(namespace?: string): Iterable<T> {
    for (const holders of this.#holders.values()) {
      const { object } = holders[holders.length - 1];
      if (namespace === undefined || object.namespace === namespace) yield object;
    }
  }

  #hold(
    key: string,
    { file, object, of, changes }: {
      readonly file: string;
      readonly object: T | undefined;
      readonly of: T;
      readonly changes: ObjectChange<T>[];
    },
  ): readonly Holder<T>[] {
    const old = this.#holders.get(key) ?? [];
    const others = old.filter((holder) => holder.file !== file);
    const holders = object ? [...others, { file, object }] : others;
    holders.sort((a, b) => a.file < b.file ? -1 : 1);
    if (holders.length > 0) this.#holders.set(key, holders);
    else this.#holders.delete(key);
    const before = old.at(-1)?.object;
    const after = holders.at(-1)?.object;
    if (after === undefined) {
      changes.push({ kind: "delete", namespace: of.namespace, name: of.name });
    } else if (!deepEqual(before, after)) changes.push({ kind: "upsert", object: after });
    return holders;
  }

  #sayOnce(
    duplicates: DuplicateObject[],
    { object, used, unused }: {
      readonly object: T;
      readonly used: string;
      readonly unused: string;
    },
  ): void {
    const key = `${keyOf(object)} ${used} ${unused}`;
    if (this.#said.has(key)) return;
    this.#said.add(key);
    duplicates.push({ namespace: object.namespace, name: object.name, used, unused });
  }
}

function keyOf({ namespace, name }: ApiObject): string {
  return `${namespace}/${name}`;
}
