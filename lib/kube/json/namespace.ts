/** Namespaces as JSON, whole or as meta.k8s.io/v1 `PartialObjectMetadata`. */
import type { Namespace } from "../objects.ts";
import { readObjectMeta, valueOf } from "./object_meta.ts";
import { asObject } from "./values.ts";

const optOut = "networking.k8s.io/kube-proxy";

/** Decodes one object; throws a ShapeError. */
export function readNamespace(value: unknown): Namespace {
  const { namespace, name, resourceVersion, labels } = readObjectMeta(asObject(value));
  return { namespace, name, resourceVersion, optedOut: valueOf(labels, optOut) === "disabled" };
}
