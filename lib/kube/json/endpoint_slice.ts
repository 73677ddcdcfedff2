/** EndpointSlices: discovery.k8s.io/v1 `EndpointSlice` as JSON, by far most of what there is. */
import { SharedTexts } from "../../base/shared_texts.ts";
import type { EndpointSlice, EndpointSlicePort, SliceEndpoint } from "../objects.ts";
import { readObjectMeta, valueOf } from "./object_meta.ts";
import {
  asObject,
  flagAt,
  integerAt,
  type JsonObject,
  none,
  objectAt,
  objectsAt,
  protocolOf,
  textAt,
  textsAt,
} from "./values.ts";

const serviceName = "kubernetes.io/service-name";
const proxyName = "service.kubernetes.io/service-proxy-name";
const headless = "service.kubernetes.io/headless";
const triggerTime = "endpoints.kubernetes.io/last-change-trigger-time";

/**
 * Decodes one object. Absent conditions get the meaning that the API gives them; throws a
 * ShapeError. With a pool that many objects share, node and zone names are kept once.
 */
export function readEndpointSlice(value: unknown, texts = new SharedTexts()): EndpointSlice {
  const object = asObject(value);
  const meta = readObjectMeta(object);
  return {
    namespace: texts.share(meta.namespace),
    name: meta.name,
    resourceVersion: meta.resourceVersion,
    serviceName: valueOf(meta.labels, serviceName) ?? "",
    addressType: texts.share(textAt(object, "addressType")),
    ports: objectsAt(object, "ports", (port) => readPort(port, texts)),
    endpoints: objectsAt(object, "endpoints", (endpoint) => readEndpoint(endpoint, texts)),
    triggerTimeMs: Date.parse(valueOf(meta.annotations, triggerTime) ?? "") || 0,
    otherProxy: proxyName in meta.labels || headless in meta.labels,
  };
}

function readPort(port: JsonObject, texts: SharedTexts): EndpointSlicePort {
  const isNamed = port.name !== undefined && port.name !== null;
  return {
    name: isNamed ? texts.share(textAt(port, "name")) : null,
    protocol: protocolOf(textAt(port, "protocol")),
    port: integerAt(port, "port"),
  };
}

function readEndpoint(endpoint: JsonObject, texts: SharedTexts): SliceEndpoint {
  const conditions = objectAt(endpoint, "conditions");
  const hints = objectAt(endpoint, "hints");
  return {
    // Only the first address counts.
    address: textsAt(endpoint, "addresses")[0] ?? "",
    ready: flagAt(conditions, "ready", true),
    serving: flagAt(conditions, "serving", true),
    terminating: flagAt(conditions, "terminating", false),
    nodeName: texts.share(textAt(endpoint, "nodeName")),
    zoneHints: readHints(hints, "forZones", texts),
    nodeHints: readHints(hints, "forNodes", texts),
  };
}

function readHints(hints: JsonObject, key: string, texts: SharedTexts): readonly string[] {
  if (hints[key] === undefined) return none;
  return objectsAt(hints, key, (hint) => texts.share(textAt(hint, "name")));
}
