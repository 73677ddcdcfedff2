/** The metadata that every object has: of some fifteen fields, those that anybody here reads. */
import type { Reader } from "./reader.ts";

/** Text values are empty where the field is absent. */
export interface ObjectMeta {
  name: string;
  namespace: string;
  resourceVersion: string;
  createdMs: number;
  deleting: boolean;
  /** Values of the labels and annotations asked for. */
  values: ReadonlyMap<string, string>;
}

/** Keys of labels and annotations; the two never share a key that anybody asks for. */
export type WantedKeys = ReadonlySet<string>;

/** No label and no annotation. */
export const noKeys: WantedKeys = new Set();

const noValues: ReadonlyMap<string, string> = new Map();

/** What a message without metadata has. */
export const emptyMeta: Readonly<ObjectMeta> = {
  name: "",
  namespace: "",
  resourceVersion: "",
  createdMs: 0,
  deleting: false,
  values: noValues,
};

/** Reads metadata of the field that `next` announced. */
export function readObjectMeta(reader: Reader, wanted: WantedKeys): ObjectMeta {
  const meta: ObjectMeta = { ...emptyMeta };
  let values: Map<string, string> | undefined;
  const end = reader.enter();
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    switch (field) {
      case 1:
        meta.name = reader.text();
        break;
      case 3:
        meta.namespace = reader.sharedText();
        break;
      case 6:
        meta.resourceVersion = reader.text();
        break;
      case 8:
        meta.createdMs = readTimeMs(reader);
        break;
      case 9:
        meta.deleting = true;
        reader.skip();
        break;
      case 11:
      case 12:
        values ??= new Map();
        readMapEntry(reader, { wanted, values });
        break;
      default:
        reader.skip();
    }
  }
  if (values) meta.values = values;
  return meta;
}

/** Metadata of a message whose field 1 it is, and nothing else of it: bookmarks and partial objects. */
export function readOnlyMeta(reader: Reader, wanted: WantedKeys): ObjectMeta | undefined {
  let meta: ObjectMeta | undefined;
  for (let field = reader.next(reader.length); field !== 0; field = reader.next(reader.length)) {
    if (field === 1) meta = readObjectMeta(reader, wanted);
    else reader.skip();
  }
  return meta;
}

/** Seconds and nanoseconds; the API never writes fractions of creation times. */
function readTimeMs(reader: Reader): number {
  let seconds = 0;
  const end = reader.enter();
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 1) seconds = reader.int64();
    else reader.skip();
  }
  return seconds * 1000;
}

interface MapEntryOptions {
  readonly wanted: WantedKeys;
  readonly values: Map<string, string>;
}

function readMapEntry(reader: Reader, { wanted, values }: MapEntryOptions): void {
  let key = "";
  let value = "";
  const end = reader.enter();
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 1) key = reader.sharedText();
    // A value before its key is legal, so it cannot be passed over for the key's sake alone.
    else if (field === 2 && (key === "" || wanted.has(key))) value = reader.text();
    else reader.skip();
  }
  if (wanted.has(key)) values.set(key, value);
}
