import { insideOf, type JsonObject, objectAt, textAt } from "./values.ts";

/** The metadata that anybody here reads; texts are empty where absent. */
export interface ObjectMeta {
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly createdMs: number;
  readonly deleting: boolean;
  readonly labels: JsonObject;
  readonly annotations: JsonObject;
}

/** Reads `metadata`. */
export function readObjectMeta(object: JsonObject): ObjectMeta {
  return insideOf(object, "metadata", (meta) => ({
    namespace: textAt(meta, "namespace"),
    name: textAt(meta, "name"),
    resourceVersion: textAt(meta, "resourceVersion"),
    createdMs: Date.parse(textAt(meta, "creationTimestamp")) || 0,
    deleting: textAt(meta, "deletionTimestamp") !== "",
    labels: objectAt(meta, "labels"),
    annotations: objectAt(meta, "annotations"),
  }));
}

/** A label's or annotation's value, or undefined. */
export function valueOf(values: JsonObject, key: string): string | undefined {
  const value = values[key];
  return typeof value === "string" ? value : undefined;
}
