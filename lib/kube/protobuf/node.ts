/** Nodes: core/v1 `Node`, without the long lists of images, volumes and conditions. */
import type { Node, NodeAddress } from "../objects.ts";
import { emptyMeta, readObjectMeta } from "./object_meta.ts";
import type { Reader } from "./reader.ts";
import { append, none } from "./values.ts";

const zone = "topology.kubernetes.io/zone";
const wanted: ReadonlySet<string> = new Set([zone]);

/** Decodes the whole buffer. */
export function readNode(reader: Reader): Node {
  let meta = emptyMeta;
  let spec: Spec = { podCIDRs: none, taintKeys: none };
  let addresses: readonly NodeAddress[] = none;
  const end = reader.length;
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 1) meta = readObjectMeta(reader, wanted);
    else if (field === 2) spec = readSpec(reader);
    else if (field === 3) addresses = readStatus(reader);
    else reader.skip();
  }
  return {
    namespace: meta.namespace,
    name: meta.name,
    resourceVersion: meta.resourceVersion,
    addresses,
    podCIDRs: spec.podCIDRs,
    zone: meta.values.get(zone) ?? "",
    taintKeys: spec.taintKeys,
    deleting: meta.deleting,
  };
}

interface Spec {
  podCIDRs: readonly string[];
  taintKeys: readonly string[];
}

/** The older `podCIDR`, field 1, is always the first of `podCIDRs`. */
function readSpec(reader: Reader): Spec {
  const spec: Spec = { podCIDRs: none, taintKeys: none };
  const end = reader.enter();
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 5) spec.taintKeys = append(spec.taintKeys, readTaintKey(reader));
    else if (field === 7) spec.podCIDRs = append(spec.podCIDRs, reader.text());
    else reader.skip();
  }
  return spec;
}

function readTaintKey(reader: Reader): string {
  let key = "";
  const end = reader.enter();
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 1) key = reader.text();
    else reader.skip();
  }
  return key;
}

function readStatus(reader: Reader): readonly NodeAddress[] {
  let addresses: readonly NodeAddress[] = none;
  const end = reader.enter();
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 5) addresses = append(addresses, readAddress(reader));
    else reader.skip();
  }
  return addresses;
}

function readAddress(reader: Reader): NodeAddress {
  const result = { type: "", address: "" };
  const end = reader.enter();
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 1) result.type = reader.text();
    else if (field === 2) result.address = reader.text();
    else reader.skip();
  }
  return result;
}
