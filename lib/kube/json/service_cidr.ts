/** ServiceCIDRs: networking.k8s.io/v1 `ServiceCIDR` as JSON. */
import type { ServiceCIDR } from "../objects.ts";
import { readObjectMeta } from "./object_meta.ts";
import { asObject, insideOf, textsAt } from "./values.ts";

/** Decodes one object; throws a ShapeError. */
export function readServiceCIDR(value: unknown): ServiceCIDR {
  const object = asObject(value);
  const { namespace, name, resourceVersion } = readObjectMeta(object);
  const cidrs = insideOf(object, "spec", (spec) => textsAt(spec, "cidrs"));
  return { namespace, name, resourceVersion, cidrs };
}
