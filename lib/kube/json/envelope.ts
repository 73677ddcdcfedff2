/** What the API puts round its objects in JSON: lists, bookmarks, and refusals. */
import type { ApiStatus } from "../status.ts";
import { readObjectMeta, valueOf } from "./object_meta.ts";
import { asObject, insideOf, integerAt, listAt, objectAt, objectsAt, textAt } from "./values.ts";

/** A list whose items are not decoded yet. */
export interface JsonList {
  readonly resourceVersion: string;
  readonly continueToken: string;
  readonly items: readonly unknown[];
}

/** Reads a list of any kind. */
export function readJsonList(value: unknown): JsonList {
  const list = asObject(value);
  const meta = objectAt(list, "metadata");
  return {
    resourceVersion: textAt(meta, "resourceVersion"),
    continueToken: textAt(meta, "continue"),
    items: listAt(list, "items"),
  };
}

/** Reads the object of a BOOKMARK, whatever its kind. */
export function readJsonBookmark(value: unknown) {
  const { resourceVersion, annotations } = readObjectMeta(asObject(value));
  const endsInitialEvents = valueOf(annotations, "k8s.io/initial-events-end") === "true";
  return { resourceVersion, endsInitialEvents };
}

/** Reads a `Status`. */
export function readJsonStatus(value: unknown): ApiStatus {
  const status = asObject(value);
  const details = insideOf(status, "details", (inner) => ({
    retryAfterMs: integerAt(inner, "retryAfterSeconds") * 1000,
    cause: objectsAt(inner, "causes", (cause) => textAt(cause, "reason"))[0] ?? "",
  }));
  return {
    code: integerAt(status, "code"),
    reason: textAt(status, "reason"),
    message: textAt(status, "message"),
    ...details,
  };
}
