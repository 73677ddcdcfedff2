/** What is to be known about one Namespace: its label, who owns it, and since when. */
import {
  asObject,
  insideOf,
  isJsonObject,
  type JsonObject,
  listAt,
  objectAt,
  ShapeError,
  textAt,
} from "../kube/json/values.ts";
import { optOutLabel, optOutValue } from "./label.ts";

export interface NamespaceFacts {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** The label's value; undefined without the label. */
  readonly value: string | undefined;
  readonly optedOut: boolean;
  /** The managers of the label, sorted; empty where managed fields do not tell. */
  readonly managers: readonly string[];
  /** When the label came, RFC 3339; undefined where managed fields do not tell. */
  readonly since: string | undefined;
}

/** Reads a Namespace, whole or its metadata alone; throws a ShapeError. */
export function readNamespaceFacts(value: unknown): NamespaceFacts {
  return insideOf(asObject(value), "metadata", (meta) => {
    const label = objectAt(meta, "labels")[optOutLabel];
    const owners = ownersOf(meta);
    const createdAt = textAt(meta, "creationTimestamp");
    return {
      name: textAt(meta, "name"),
      uid: textAt(meta, "uid"),
      resourceVersion: textAt(meta, "resourceVersion"),
      value: typeof label === "string" ? label : undefined,
      optedOut: label === optOutValue,
      managers: [...new Set(owners.map(({ manager }) => manager))].sort(),
      since: sinceOf(owners, createdAt),
    };
  });
}

/** Reads the items of a list of Namespaces; throws a ShapeError. */
export function readNamespaceList(value: unknown): readonly NamespaceFacts[] {
  return listAt(asObject(value), "items").map(readNamespaceFacts)
    .sort((a, b) => a.name < b.name ? -1 : 1);
}

/** One manager's part of the label. */
interface Owner {
  readonly manager: string;
  readonly time: string;
  /** Nothing but this label belongs to it. */
  readonly alone: boolean;
}

function ownersOf(meta: JsonObject): readonly Owner[] {
  return listAt(meta, "managedFields").flatMap((item) => {
    const entry = asObject(item);
    const fields = leaves(objectAt(entry, "fieldsV1"));
    if (!fields.includes(labelLeaf)) return [];
    const manager = textAt(entry, "manager");
    return [{ manager, time: textAt(entry, "time"), alone: fields.length === 1 }];
  });
}

/**
 * A manager's time is that of its last write to any of its fields. It tells when the label came where
 * the manager has no other field, or has not written since the namespace was made.
 */
function sinceOf(owners: readonly Owner[], createdAt: string): string | undefined {
  const exact = owners.filter(({ alone, time }) => alone || time === createdAt)
    .map(({ time }) => time).filter((time) => time !== "");
  return exact.length === owners.length ? exact.sort()[0] : undefined;
}

const labelLeaf = `f:metadata/f:labels/f:${optOutLabel}`;

/** `{"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}` has the one leaf `f:metadata/f:labels/f:a`. */
function leaves(fields: JsonObject, path: readonly string[] = []): readonly string[] {
  return Object.entries(fields).flatMap(([key, inner]) => {
    if (key === ".") return [];
    if (!isJsonObject(inner)) throw new ShapeError("must be a mapping", [key]);
    const here = [...path, key];
    return Object.keys(inner).length === 0 ? [here.join("/")] : leaves(inner, here);
  });
}
