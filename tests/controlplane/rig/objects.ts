/** Objects as small as the API accepts them, for tests that write them to an apiserver. */
import type { ManifestObject } from "./api.ts";

/** A namespace; `labels` may opt it out. */
export function namespaceObject(
  name: string,
  labels: Readonly<Record<string, string>> = {},
): ManifestObject {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } };
}

export interface ServiceFields {
  readonly namespace: string;
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** A ClusterIP Service with one port 80 to 8080, changed by `spec`. */
export function serviceObject(fields: ServiceFields): ManifestObject {
  const { namespace, name, labels = {}, spec = {} } = fields;
  const ports = [{ name: "http", port: 80, protocol: "TCP", targetPort: 8080 }];
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace, labels },
    spec: { ports, ...spec },
  };
}

export interface EndpointSliceFields {
  readonly namespace: string;
  readonly name: string;
  /** Label kubernetes.io/service-name; the slice's own name when not given. */
  readonly service?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly addresses: readonly string[];
  readonly addressType?: "IPv4" | "IPv6";
  /** Where all of them run; some node when not given. */
  readonly nodeName?: string;
}

/** A slice of ready endpoints on port 8080. */
export function endpointSliceObject(fields: EndpointSliceFields): ManifestObject {
  const { namespace, name, service = name, labels = {}, addresses, nodeName = "node-1" } = fields;
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name, namespace, labels: { ...labels, "kubernetes.io/service-name": service } },
    addressType: fields.addressType ?? "IPv4",
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    endpoints: addresses.map((address) => ({
      addresses: [address],
      conditions: { ready: true, serving: true, terminating: false },
      nodeName,
      zone: "zone-a",
    })),
  };
}
