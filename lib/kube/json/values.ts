/**
 * Reads parsed JSON that nobody has checked. Absent and null are the same, as for the API; anything
 * of another shape is a ShapeError that knows where it stands.
 */
import type { Protocol } from "../../base/protocol.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

/** Field names and list indexes from the object down to the value. */
export type JsonPath = readonly (string | number)[];

/** A value has another type than the API gives it. The message is a clause: `must be a string`. */
export class ShapeError extends Error {
  readonly path: JsonPath;

  constructor(message: string, path: JsonPath) {
    super(message);
    this.name = "ShapeError";
    this.path = path;
  }
}

/** The one empty list, for the many objects that hold nothing of something. */
export const none: readonly never[] = Object.freeze([]);

const emptyObject: JsonObject = Object.freeze({});

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value itself as an object. */
export function asObject(value: unknown): JsonObject {
  if (isJsonObject(value)) return value;
  throw new ShapeError("must be a mapping", []);
}

/** An empty object when absent. */
export function objectAt(parent: JsonObject, key: string): JsonObject {
  const value = parent[key] ?? emptyObject;
  if (isJsonObject(value)) return value;
  throw new ShapeError("must be a mapping", [key]);
}

/** Empty when absent. */
export function textAt(parent: JsonObject, key: string): string {
  const value = parent[key] ?? "";
  if (typeof value === "string") return value;
  throw new ShapeError(notText(value), [key]);
}

/** YAML takes `n`, `on` or `1.30` for something else. */
function notText(value: unknown): string {
  const isWord = typeof value === "boolean" || typeof value === "number";
  return isWord ? "must be a string; put it in quotes" : "must be a string";
}

/** 0 when absent. */
export function integerAt(parent: JsonObject, key: string): number {
  const value = parent[key] ?? 0;
  if (Number.isInteger(value)) return Number(value);
  throw new ShapeError("must be a whole number", [key]);
}

/** Undefined when absent. */
export function flagAt(parent: JsonObject, key: string): boolean | undefined {
  const value = parent[key] ?? undefined;
  if (typeof value === "boolean" || value === undefined) return value;
  throw new ShapeError("must be true or false", [key]);
}

/** Empty when absent. */
export function listAt(parent: JsonObject, key: string): readonly unknown[] {
  const value = parent[key] ?? none;
  if (Array.isArray(value)) return value;
  throw new ShapeError("must be a list", [key]);
}

/** A list of strings; empty when absent. */
export function textsAt(parent: JsonObject, key: string): readonly string[] {
  return itemsAt(parent, key, (item) => {
    if (typeof item === "string") return item;
    throw new ShapeError(notText(item), []);
  });
}

/** A list of objects, each read; empty when absent. */
export function objectsAt<T>(
  parent: JsonObject,
  key: string,
  read: (item: JsonObject) => T,
): readonly T[] {
  return itemsAt(parent, key, (item) => read(asObject(item)));
}

/** Reads an object in a field, so that an error inside it knows the field. */
export function insideOf<T>(parent: JsonObject, key: string, read: (inner: JsonObject) => T): T {
  const inner = objectAt(parent, key);
  try {
    return read(inner);
  } catch (error) {
    throw below(error, [key]);
  }
}

/** Protocols are few; anything else is taken as TCP, the API server's default. */
export function protocolOf(text: string): Protocol {
  return text === "UDP" || text === "SCTP" ? text : "TCP";
}

function itemsAt<T>(
  parent: JsonObject,
  key: string,
  read: (item: unknown) => T,
): readonly T[] {
  const list = listAt(parent, key);
  if (list.length === 0) return none;
  let index = -1;
  try {
    // Not filled by pushing: that reserves room for sixteen more, in a hundred thousand lists.
    return list.map((item) => {
      index++;
      return read(item);
    });
  } catch (error) {
    throw below(error, [key, index]);
  }
}

function below(error: unknown, path: JsonPath): unknown {
  return error instanceof ShapeError
    ? new ShapeError(error.message, [...path, ...error.path])
    : error;
}
