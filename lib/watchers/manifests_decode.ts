/** Turns one manifest object into one of ours: what the apiserver would refuse is refused, what it would fill in is filled in. */
import { ipFamilyOf } from "../base/ip.ts";
import type { SharedTexts } from "../base/shared_texts.ts";
import { readEndpointSlice } from "../kube/json/endpoint_slice.ts";
import { readNamespace } from "../kube/json/namespace.ts";
import { readNode } from "../kube/json/node.ts";
import { readService } from "../kube/json/service.ts";
import { readServiceCIDR } from "../kube/json/service_cidr.ts";
import { isJsonObject, type JsonObject, ShapeError } from "../kube/json/values.ts";
import type { EndpointSlice, Namespace, Node, Service, ServiceCIDR } from "../kube/objects.ts";
import {
  type Breach,
  validateEndpointSlice,
  validateNamespace,
  validateNode,
  validateService,
  validateServiceCIDR,
} from "./manifests_validate.ts";

/** An object that was understood. */
export type ManifestObject =
  | { readonly kind: "Service"; readonly object: Service }
  | { readonly kind: "EndpointSlice"; readonly object: EndpointSlice }
  | { readonly kind: "Node"; readonly object: Node }
  | { readonly kind: "Namespace"; readonly object: Namespace }
  | { readonly kind: "ServiceCIDR"; readonly object: ServiceCIDR };

/** `other` is an object of a kind that no proxy reads. */
export type DecodedManifest =
  | ManifestObject
  | { readonly kind: "other"; readonly name: string }
  | { readonly kind: "refused"; readonly subject: string; readonly breaches: readonly Breach[] };

/** Decodes and checks one value of a file. */
export function decodeManifest(value: unknown, texts: SharedTexts): DecodedManifest {
  if (!isJsonObject(value)) {
    return refused("document", { path: [], rule: "must be a Kubernetes object" });
  }
  const { kind, apiVersion } = value;
  if (typeof kind !== "string" || kind === "") {
    return refused("object", { path: ["kind"], rule: "is required" });
  }
  if (typeof apiVersion !== "string") {
    return refused(kind, { path: ["apiVersion"], rule: "is required" });
  }
  try {
    return decodeKind(value, { kind, group: apiVersion.split("/")[0], texts });
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    return refused(subjectOf(kind, value), { path: error.path, rule: error.message });
  }
}

interface KindOptions {
  readonly kind: string;
  readonly group: string;
  readonly texts: SharedTexts;
}

function decodeKind(value: JsonObject, { kind, group, texts }: KindOptions): DecodedManifest {
  const check = (breaches: readonly Breach[], object: ManifestObject): DecodedManifest =>
    breaches.length === 0 ? object : { kind: "refused", subject: subjectOf(kind, value), breaches };
  switch (`${group} ${kind}`) {
    case "v1 Service": {
      const object = fillService(readService(value));
      return check(validateService(value, object), { kind: "Service", object });
    }
    case "discovery.k8s.io EndpointSlice": {
      const object = fillSlice(readEndpointSlice(value, texts));
      return check(validateEndpointSlice(value, object), { kind: "EndpointSlice", object });
    }
    case "v1 Node": {
      const object = readNode(value);
      return check(validateNode(object), { kind: "Node", object });
    }
    case "v1 Namespace": {
      const object = readNamespace(value);
      return check(validateNamespace(object), { kind: "Namespace", object });
    }
    case "networking.k8s.io ServiceCIDR": {
      const object = readServiceCIDR(value);
      return check(validateServiceCIDR(object), { kind: "ServiceCIDR", object });
    }
    default:
      return { kind: "other", name: kind };
  }
}

/** As the apiserver keeps `clusterIP`, `clusterIPs` and `ipFamilies` in step. */
function fillService(service: Service): Service {
  const isHeadless = service.clusterIP === "None";
  const clusterIPs = service.clusterIPs.length === 0 && service.clusterIP !== ""
    ? [service.clusterIP]
    : service.clusterIPs;
  const families = isHeadless ? [] : clusterIPs.flatMap((ip) => ipFamilyOf(ip) ?? []);
  return {
    ...service,
    namespace: service.namespace || "default",
    clusterIP: service.clusterIP || (clusterIPs[0] ?? ""),
    clusterIPs,
    ipFamilies: service.ipFamilies.length > 0 ? service.ipFamilies : families,
  };
}

function fillSlice(slice: EndpointSlice): EndpointSlice {
  const namespace = slice.namespace || "default";
  const unnamed = slice.ports.some(({ name }) => name === null);
  if (!unnamed && namespace === slice.namespace) return slice;
  return {
    ...slice,
    namespace,
    ports: slice.ports.map((port) => ({ ...port, name: port.name ?? "" })),
  };
}

function refused(subject: string, breach: Breach): DecodedManifest {
  return { kind: "refused", subject, breaches: [breach] };
}

function subjectOf(kind: string, value: JsonObject): string {
  const meta = isJsonObject(value.metadata) ? value.metadata : {};
  const name = typeof meta.name === "string" && meta.name !== "" ? meta.name : "(without a name)";
  return typeof meta.namespace === "string"
    ? `${kind} ${meta.namespace}/${name}`
    : `${kind} ${name}`;
}
