/** EndpointSlices: discovery.k8s.io/v1 `EndpointSlice`, by far most of what a proxy receives. */
import type { EndpointSlice, EndpointSlicePort, SliceEndpoint } from "../objects.ts";
import { emptyMeta, readObjectMeta } from "./object_meta.ts";
import type { Reader } from "./reader.ts";
import { append, none, protocolOf } from "./values.ts";

const serviceName = "kubernetes.io/service-name";
const proxyName = "service.kubernetes.io/service-proxy-name";
const headless = "service.kubernetes.io/headless";
const triggerTime = "endpoints.kubernetes.io/last-change-trigger-time";
const wanted: ReadonlySet<string> = new Set([headless, proxyName, serviceName, triggerTime]);

/** Decodes the whole buffer. Absent conditions get the meaning that the API gives them. */
export function readEndpointSlice(reader: Reader): EndpointSlice {
  let meta = emptyMeta;
  let addressType = "";
  let ports: readonly EndpointSlicePort[] = none;
  const endpoints: SliceEndpoint[] = [];
  const end = reader.length;
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 1) meta = readObjectMeta(reader, wanted);
    else if (field === 2) endpoints.push(readEndpoint(reader));
    else if (field === 3) ports = append(ports, readPort(reader));
    else if (field === 4) addressType = reader.sharedText();
    else reader.skip();
  }
  return {
    namespace: meta.namespace,
    name: meta.name,
    resourceVersion: meta.resourceVersion,
    serviceName: meta.values.get(serviceName) ?? "",
    addressType,
    ports,
    endpoints: endpoints.length === 0 ? none : endpoints,
    triggerTimeMs: Date.parse(meta.values.get(triggerTime) ?? "") || 0,
    otherProxy: meta.values.has(proxyName) || meta.values.has(headless),
  };
}

function readEndpoint(reader: Reader): SliceEndpoint {
  let address = "";
  let conditions = unsetConditions;
  let nodeName = "";
  let hints = noHints;
  const end = reader.enter();
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    switch (field) {
      case 1:
        if (address === "") address = reader.text();
        else reader.skip();
        break;
      case 2:
        conditions = readConditions(reader);
        break;
      case 6:
        nodeName = reader.sharedText();
        break;
      case 8:
        hints = readHints(reader);
        break;
      default:
        reader.skip();
    }
  }
  return {
    address,
    ready: (conditions & ready) !== 0,
    serving: (conditions & serving) !== 0,
    terminating: (conditions & terminating) !== 0,
    nodeName,
    zoneHints: hints.zones,
    nodeHints: hints.nodes,
  };
}

// Conditions as bits: an object for each endpoint would be garbage at once, a hundred thousand times.
const ready = 1;
const serving = 2;
const terminating = 4;
/** Unset `ready` and `serving` mean yes, unset `terminating` means no. */
const unsetConditions = ready | serving;

function readConditions(reader: Reader): number {
  let conditions = unsetConditions;
  const end = reader.enter();
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field < 1 || field > 3) {
      reader.skip();
      continue;
    }
    const bit = 1 << (field - 1);
    if (reader.bool()) conditions |= bit;
    else conditions &= ~bit;
  }
  return conditions;
}

interface Hints {
  zones: readonly string[];
  nodes: readonly string[];
}

const noHints: Readonly<Hints> = { zones: none, nodes: none };

/** EndpointHints { repeated ForZone forZones = 1; repeated ForNode forNodes = 2 }, each { name = 1 } */
function readHints(reader: Reader): Hints {
  const hints: Hints = { zones: none, nodes: none };
  const end = reader.enter();
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 1) hints.zones = append(hints.zones, readName(reader));
    else if (field === 2) hints.nodes = append(hints.nodes, readName(reader));
    else reader.skip();
  }
  return hints;
}

function readName(reader: Reader): string {
  let name = "";
  const end = reader.enter();
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 1) name = reader.sharedText();
    else reader.skip();
  }
  return name;
}

function readPort(reader: Reader): EndpointSlicePort {
  let name: string | null = null;
  let protocol = protocolOf("");
  let port = 0;
  const end = reader.enter();
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 1) name = reader.sharedText();
    else if (field === 2) protocol = protocolOf(reader.sharedText());
    else if (field === 3) port = reader.int32();
    else reader.skip();
  }
  return { name, protocol, port };
}
