/** Namespaces, which are asked for as meta.k8s.io/v1 `PartialObjectMetadata`: their metadata alone. */
import type { Namespace } from "../objects.ts";
import { emptyMeta, readOnlyMeta } from "./object_meta.ts";
import type { Reader } from "./reader.ts";

const optOut = "networking.k8s.io/kube-proxy";
const wanted: ReadonlySet<string> = new Set([optOut]);

/** Decodes the whole buffer: a whole Namespace has its metadata in the same place. */
export function readNamespace(reader: Reader): Namespace {
  const { name, namespace, resourceVersion, values } = readOnlyMeta(reader, wanted) ?? emptyMeta;
  return { namespace, name, resourceVersion, optedOut: values.get(optOut) === "disabled" };
}
