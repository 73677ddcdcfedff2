/** Services: core/v1 `Service` as JSON. */
import type { LoadBalancerIngress, Service, ServicePort } from "../objects.ts";
import { readObjectMeta } from "./object_meta.ts";
import {
  asObject,
  insideOf,
  integerAt,
  type JsonObject,
  objectsAt,
  protocolOf,
  textAt,
  textsAt,
} from "./values.ts";

const proxyName = "service.kubernetes.io/service-proxy-name";
const defaultAffinitySeconds = 10_800;

/** Decodes one object. Absent fields get the API server's defaults; throws a ShapeError. */
export function readService(value: unknown): Service {
  const object = asObject(value);
  const meta = readObjectMeta(object);
  const spec = insideOf(object, "spec", readSpec);
  return {
    namespace: meta.namespace,
    name: meta.name,
    resourceVersion: meta.resourceVersion,
    createdMs: meta.createdMs,
    ...spec,
    ingress: insideOf(object, "status", readStatus),
    otherProxy: proxyName in meta.labels,
  };
}

type Spec = Omit<
  Service,
  "namespace" | "name" | "resourceVersion" | "createdMs" | "ingress" | "otherProxy"
>;

function readSpec(spec: JsonObject): Spec {
  return {
    type: serviceType(textAt(spec, "type")),
    clusterIP: textAt(spec, "clusterIP"),
    clusterIPs: textsAt(spec, "clusterIPs"),
    ipFamilies: textsAt(spec, "ipFamilies"),
    externalIPs: textsAt(spec, "externalIPs"),
    ports: objectsAt(spec, "ports", readPort),
    affinitySeconds: readAffinitySeconds(spec),
    externalTrafficPolicy: trafficPolicy(textAt(spec, "externalTrafficPolicy")),
    internalTrafficPolicy: trafficPolicy(textAt(spec, "internalTrafficPolicy")),
    loadBalancerSourceRanges: textsAt(spec, "loadBalancerSourceRanges"),
    healthCheckNodePort: integerAt(spec, "healthCheckNodePort"),
  };
}

function readPort(port: JsonObject): ServicePort {
  return {
    name: textAt(port, "name"),
    protocol: protocolOf(textAt(port, "protocol")),
    port: integerAt(port, "port"),
    nodePort: integerAt(port, "nodePort"),
  };
}

function readAffinitySeconds(spec: JsonObject): number {
  if (textAt(spec, "sessionAffinity") !== "ClientIP") return 0;
  return insideOf(
    spec,
    "sessionAffinityConfig",
    (config) =>
      insideOf(
        config,
        "clientIP",
        (client) => integerAt(client, "timeoutSeconds") || defaultAffinitySeconds,
      ),
  );
}

function readStatus(status: JsonObject): readonly LoadBalancerIngress[] {
  return insideOf(status, "loadBalancer", (balancer) => {
    const ingress = objectsAt(balancer, "ingress", readIngress);
    return ingress.every(({ ip }) => ip !== "") ? ingress : ingress.filter(({ ip }) => ip !== "");
  });
}

function readIngress(ingress: JsonObject): LoadBalancerIngress {
  return {
    ip: textAt(ingress, "ip"),
    ipMode: textAt(ingress, "ipMode") === "Proxy" ? "Proxy" : "VIP",
  };
}

function serviceType(text: string): Service["type"] {
  return text === "NodePort" || text === "LoadBalancer" || text === "ExternalName"
    ? text
    : "ClusterIP";
}

function trafficPolicy(text: string): "Cluster" | "Local" {
  return text === "Local" ? "Local" : "Cluster";
}
