/** EndpointSlices: discovery.k8s.io/v1 `EndpointSlice` as JSON, by far most of what there is. */
import { SharedTexts } from "../../base/shared_texts.ts";
import type { EndpointSlice, EndpointSlicePort, SliceEndpoint } from "../objects.ts";
import { readObjectMeta, valueOf } from "./object_meta.ts";
import {
  asObject,
  flagAt,
  insideOf,
  integerAt,
  isJsonObject,
  type JsonObject,
  listAt,
  none,
  objectsAt,
  protocolOf,
  ShapeError,
  textAt,
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
  const conditions = readConditions(endpoint);
  const hasHints = endpoint.hints !== undefined && endpoint.hints !== null;
  const hints = hasHints ? readHints(endpoint, texts) : noHints;
  return {
    address: firstAddress(endpoint),
    ready: conditions.ready,
    serving: conditions.serving,
    terminating: conditions.terminating,
    nodeName: texts.share(textAt(endpoint, "nodeName")),
    zoneHints: hints.zones,
    nodeHints: hints.nodes,
  };
}

/** Only the first address counts. */
function firstAddress(endpoint: JsonObject): string {
  const addresses = listAt(endpoint, "addresses");
  const address = addresses[0] ?? "";
  if (typeof address === "string") return address;
  throw new ShapeError("must be a string", ["addresses", 0]);
}

interface Conditions {
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
}

const usualConditions: Conditions = { ready: true, serving: true, terminating: false };

/** The usual values, of which there are a hundred thousand, are recognised without a new object. */
function readConditions(endpoint: JsonObject): Conditions {
  const given = endpoint.conditions;
  if (given === undefined || given === null) return usualConditions;
  if (isJsonObject(given) && given.ready === true && given.serving === true && !given.terminating) {
    return usualConditions;
  }
  return insideOf(endpoint, "conditions", (conditions) => ({
    ready: flagAt(conditions, "ready") ?? true,
    serving: flagAt(conditions, "serving") ?? true,
    terminating: flagAt(conditions, "terminating") ?? false,
  }));
}

interface Hints {
  readonly zones: readonly string[];
  readonly nodes: readonly string[];
}

const noHints: Hints = { zones: none, nodes: none };

function readHints(endpoint: JsonObject, texts: SharedTexts): Hints {
  const name = (hint: JsonObject) => texts.share(textAt(hint, "name"));
  return insideOf(endpoint, "hints", (hints) => ({
    zones: objectsAt(hints, "forZones", name),
    nodes: objectsAt(hints, "forNodes", name),
  }));
}
