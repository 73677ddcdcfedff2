/** Nodes: core/v1 `Node` as JSON. */
import type { Node } from "../objects.ts";
import { readObjectMeta, valueOf } from "./object_meta.ts";
import { asObject, insideOf, none, objectsAt, textAt, textsAt } from "./values.ts";

const zone = "topology.kubernetes.io/zone";

/** Decodes one object; throws a ShapeError. */
export function readNode(value: unknown): Node {
  const object = asObject(value);
  const meta = readObjectMeta(object);
  const spec = insideOf(object, "spec", (inner) => ({
    podCIDR: textAt(inner, "podCIDR"),
    podCIDRs: textsAt(inner, "podCIDRs"),
    taintKeys: objectsAt(inner, "taints", (taint) => textAt(taint, "key")),
  }));
  const single = spec.podCIDR === "" ? none : [spec.podCIDR];
  return {
    namespace: meta.namespace,
    name: meta.name,
    resourceVersion: meta.resourceVersion,
    addresses: insideOf(object, "status", (status) =>
      objectsAt(status, "addresses", (entry) => ({
        type: textAt(entry, "type"),
        address: textAt(entry, "address"),
      }))),
    podCIDRs: spec.podCIDRs.length > 0 ? spec.podCIDRs : single,
    zone: valueOf(meta.labels, zone) ?? "",
    taintKeys: spec.taintKeys,
    deleting: meta.deleting,
  };
}
