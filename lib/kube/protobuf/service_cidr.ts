/** ServiceCIDRs: networking.k8s.io/v1 `ServiceCIDR`. */
import type { ServiceCIDR } from "../objects.ts";
import { emptyMeta, noKeys, readObjectMeta } from "./object_meta.ts";
import type { Reader } from "./reader.ts";
import { append, none } from "./values.ts";

/** Decodes the whole buffer. */
export function readServiceCIDR(reader: Reader): ServiceCIDR {
  let meta = emptyMeta;
  let cidrs: readonly string[] = none;
  const end = reader.length;
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 1) meta = readObjectMeta(reader, noKeys);
    else if (field === 2) cidrs = readSpec(reader);
    else reader.skip();
  }
  const { name, namespace, resourceVersion } = meta;
  return { namespace, name, resourceVersion, cidrs };
}

function readSpec(reader: Reader): readonly string[] {
  let cidrs: readonly string[] = none;
  const end = reader.enter();
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 1) cidrs = append(cidrs, reader.text());
    else reader.skip();
  }
  return cidrs;
}
