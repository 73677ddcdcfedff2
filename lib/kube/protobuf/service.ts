/** Services: core/v1 `Service`, of which the proxy reads less than half. */
import type { LoadBalancerIngress, Service, ServicePort } from "../objects.ts";
import { emptyMeta, readObjectMeta } from "./object_meta.ts";
import type { Reader } from "./reader.ts";
import { append, none, protocolOf } from "./values.ts";

const proxyName = "service.kubernetes.io/service-proxy-name";
const wanted: ReadonlySet<string> = new Set([proxyName]);
const defaultAffinitySeconds = 10_800;

interface Spec {
  type: Service["type"];
  clusterIP: string;
  clusterIPs: readonly string[];
  ipFamilies: readonly string[];
  externalIPs: readonly string[];
  ports: readonly ServicePort[];
  affinity: boolean;
  affinitySeconds: number;
  externalTrafficPolicy: "Cluster" | "Local";
  internalTrafficPolicy: "Cluster" | "Local";
  loadBalancerSourceRanges: readonly string[];
  healthCheckNodePort: number;
}

/** Decodes the whole buffer. Absent fields get the API server's defaults. */
export function readService(reader: Reader): Service {
  let meta = emptyMeta;
  let spec = emptySpec();
  let ingress: readonly LoadBalancerIngress[] = none;
  const end = reader.length;
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 1) meta = readObjectMeta(reader, wanted);
    else if (field === 2) spec = readSpec(reader);
    else if (field === 3) ingress = readStatus(reader);
    else reader.skip();
  }
  return {
    namespace: meta.namespace,
    name: meta.name,
    resourceVersion: meta.resourceVersion,
    createdMs: meta.createdMs,
    type: spec.type,
    clusterIP: spec.clusterIP,
    clusterIPs: spec.clusterIPs,
    ipFamilies: spec.ipFamilies,
    externalIPs: spec.externalIPs,
    ports: spec.ports,
    affinitySeconds: spec.affinity ? spec.affinitySeconds : 0,
    externalTrafficPolicy: spec.externalTrafficPolicy,
    internalTrafficPolicy: spec.internalTrafficPolicy,
    loadBalancerSourceRanges: spec.loadBalancerSourceRanges,
    ingress,
    healthCheckNodePort: spec.healthCheckNodePort,
    otherProxy: meta.values.has(proxyName),
  };
}

function emptySpec(): Spec {
  return {
    type: "ClusterIP",
    clusterIP: "",
    clusterIPs: none,
    ipFamilies: none,
    externalIPs: none,
    ports: none,
    affinity: false,
    affinitySeconds: defaultAffinitySeconds,
    externalTrafficPolicy: "Cluster",
    internalTrafficPolicy: "Cluster",
    loadBalancerSourceRanges: none,
    healthCheckNodePort: 0,
  };
}

function readSpec(reader: Reader): Spec {
  const spec = emptySpec();
  const end = reader.enter();
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    switch (field) {
      case 1:
        spec.ports = append(spec.ports, readPort(reader));
        break;
      case 3:
        spec.clusterIP = reader.text();
        break;
      case 4:
        spec.type = serviceType(reader.sharedText());
        break;
      case 5:
        spec.externalIPs = append(spec.externalIPs, reader.text());
        break;
      case 7:
        spec.affinity = reader.sharedText() === "ClientIP";
        break;
      case 9:
        spec.loadBalancerSourceRanges = append(spec.loadBalancerSourceRanges, reader.sharedText());
        break;
      case 11:
        spec.externalTrafficPolicy = trafficPolicy(reader.sharedText());
        break;
      case 12:
        spec.healthCheckNodePort = reader.int32();
        break;
      case 14:
        spec.affinitySeconds = readAffinityConfig(reader);
        break;
      case 18:
        spec.clusterIPs = append(spec.clusterIPs, reader.text());
        break;
      case 19:
        spec.ipFamilies = append(spec.ipFamilies, reader.sharedText());
        break;
      case 22:
        spec.internalTrafficPolicy = trafficPolicy(reader.sharedText());
        break;
      default:
        reader.skip();
    }
  }
  return spec;
}

function readPort(reader: Reader): ServicePort {
  const port = { name: "", protocol: protocolOf(""), port: 0, nodePort: 0 };
  const end = reader.enter();
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 1) port.name = reader.sharedText();
    else if (field === 2) port.protocol = protocolOf(reader.sharedText());
    else if (field === 3) port.port = reader.int32();
    else if (field === 5) port.nodePort = reader.int32();
    else reader.skip();
  }
  return port;
}

/** SessionAffinityConfig { ClientIPConfig clientIP = 1 { int32 timeoutSeconds = 1 } } */
function readAffinityConfig(reader: Reader): number {
  let seconds = defaultAffinitySeconds;
  const end = reader.enter();
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field !== 1) {
      reader.skip();
      continue;
    }
    const inner = reader.enter();
    for (let deeper = reader.next(inner); deeper !== 0; deeper = reader.next(inner)) {
      if (deeper === 1) seconds = reader.int32() || defaultAffinitySeconds;
      else reader.skip();
    }
  }
  return seconds;
}

/** ServiceStatus { LoadBalancerStatus loadBalancer = 1 { repeated LoadBalancerIngress ingress = 1 } } */
function readStatus(reader: Reader): readonly LoadBalancerIngress[] {
  let list: readonly LoadBalancerIngress[] = none;
  const end = reader.enter();
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field !== 1) {
      reader.skip();
      continue;
    }
    const inner = reader.enter();
    for (let deeper = reader.next(inner); deeper !== 0; deeper = reader.next(inner)) {
      if (deeper !== 1) {
        reader.skip();
        continue;
      }
      const ingress = readIngress(reader);
      if (ingress.ip !== "") list = append(list, ingress);
    }
  }
  return list;
}

function readIngress(reader: Reader): LoadBalancerIngress {
  let ip = "";
  let proxy = false;
  const end = reader.enter();
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 1) ip = reader.text();
    else if (field === 3) proxy = reader.sharedText() === "Proxy";
    else reader.skip();
  }
  return { ip, ipMode: proxy ? "Proxy" : "VIP" };
}

function serviceType(text: string): Service["type"] {
  return text === "NodePort" || text === "LoadBalancer" || text === "ExternalName"
    ? text
    : "ClusterIP";
}

function trafficPolicy(text: string): "Cluster" | "Local" {
  return text === "Local" ? "Local" : "Cluster";
}
