/** Spells a scenario out as API objects, the way `kubectl get -o json` shows them. */
import { ipFamilies, type IpFamily } from "../../lib/base/ip_family.ts";
import { clusterIP, externalIP, hostAddresses, loadBalancerIP, serviceCIDRs } from "./addresses.ts";
import {
  endpointAddress,
  type EndpointDescription,
  nodeNameOf,
  nodePortOf,
  type PortDescription,
  type ServiceDescription,
  zones,
} from "./description.ts";

/** An API object as JSON has it. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

const NAMESPACE = "shop";

/** The Node, the ServiceCIDR, and each Service with its EndpointSlices of both families. */
export function clusterManifests(services: readonly ServiceDescription[]): readonly Manifest[] {
  return [nodeManifest(), serviceCIDRManifest(), ...services.flatMap(serviceManifests)];
}

/** A Service and its EndpointSlices. */
export function serviceManifests(service: ServiceDescription): readonly Manifest[] {
  return [
    serviceManifest(service),
    ...ipFamilies.flatMap((family) => sliceManifests(service, family)),
  ];
}

/** The node the rules are for. */
export function nodeManifest(zone: string = zones.node): Manifest {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "node", labels: { "topology.kubernetes.io/zone": zone } },
    spec: { podCIDR: "10.128.0.0/24", podCIDRs: ["10.128.0.0/24", "fd00:10:128::/64"] },
    status: {
      addresses: ipFamilies.map((family) => ({
        type: "InternalIP",
        address: hostAddresses.node[family],
      })),
    },
  };
}

/** The Service that an apiserver makes for itself, before it has written its own endpoints. */
export function apiserverManifest(): Manifest {
  const address = clusterIP(1).IPv4;
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "kubernetes", namespace: "default" },
    spec: {
      type: "ClusterIP",
      clusterIP: address,
      clusterIPs: [address],
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      ports: [{ name: "https", protocol: "TCP", port: 443, targetPort: 6443 }],
      internalTrafficPolicy: "Cluster",
      sessionAffinity: "None",
    },
    status: { loadBalancer: {} },
  };
}

function serviceCIDRManifest(): Manifest {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "ServiceCIDR",
    metadata: { name: "kubernetes" },
    spec: { cidrs: [serviceCIDRs.IPv4, serviceCIDRs.IPv6] },
  };
}

function serviceManifest(service: ServiceDescription): Manifest {
  const clusterIPs = service.headless
    ? ["None"]
    : ipFamilies.map((family) => clusterIP(service.number)[family]);
  const external = ipFamilies.map((family) => externalIP(service.number)[family]);
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: service.name, namespace: NAMESPACE, ...labelsOf(service) },
    spec: {
      type: service.type,
      clusterIP: clusterIPs[0],
      clusterIPs,
      ipFamilies: [...ipFamilies],
      ipFamilyPolicy: "RequireDualStack",
      selector: { app: service.name },
      ports: service.ports.map((port) => portManifest(service, port)),
      ...(service.externalIP ? { externalIPs: external } : {}),
      ...(service.type === "ClusterIP" && !service.externalIP
        ? {}
        : { externalTrafficPolicy: service.externalTrafficPolicy ?? "Cluster" }),
      internalTrafficPolicy: service.internalTrafficPolicy ?? "Cluster",
      ...healthCheckPortOf(service),
      ...(service.sourceRanges ? { loadBalancerSourceRanges: [...service.sourceRanges] } : {}),
      ...(service.publishNotReadyAddresses ? { publishNotReadyAddresses: true } : {}),
      ...affinityOf(service),
    },
    status: { loadBalancer: loadBalancerStatus(service) },
  };
}

function portManifest(service: ServiceDescription, port: PortDescription) {
  const nodePort = nodePortOf(service, port);
  return {
    name: portName(port),
    protocol: port.protocol,
    port: port.port,
    targetPort: port.targetPort,
    ...(nodePort === 0 ? {} : { nodePort }),
  };
}

/**
 * Where load balancers ask for a Local Service. The apiserver would choose any free port, also one
 * that another Service of the scenario is about to ask for; those from 30000 to 30085 it leaves alone.
 */
function healthCheckPortOf(service: ServiceDescription) {
  const isAsked = service.type === "LoadBalancer" && service.externalTrafficPolicy === "Local";
  return isAsked ? { healthCheckNodePort: nodePortOf(service, service.ports[0]) + 60 } : {};
}

function affinityOf(service: ServiceDescription) {
  if (service.affinitySeconds === undefined) return { sessionAffinity: "None" };
  return {
    sessionAffinity: "ClientIP",
    sessionAffinityConfig: { clientIP: { timeoutSeconds: service.affinitySeconds } },
  };
}

function loadBalancerStatus(service: ServiceDescription) {
  if (service.type !== "LoadBalancer") return {};
  const ipMode = service.ipMode ?? "VIP";
  return {
    ingress: ipFamilies.map((family) => ({ ip: loadBalancerIP(service.number)[family], ipMode })),
  };
}

function labelsOf(service: ServiceDescription) {
  return service.labels ? { labels: service.labels } : {};
}

/** The EndpointSlices of one family; none when there are no endpoints. */
function sliceManifests(
  service: ServiceDescription,
  family: IpFamily,
): readonly Manifest[] {
  const size = service.endpointsPerSlice ?? 100;
  const count = Math.ceil(service.endpoints.length / size);
  return Array.from({ length: count }, (_, i) => ({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name: `${service.name}-${family.toLowerCase()}-${i}`,
      namespace: NAMESPACE,
      labels: {
        ...service.labels,
        "kubernetes.io/service-name": service.name,
        ...(service.headless ? { "service.kubernetes.io/headless": "" } : {}),
      },
    },
    addressType: family,
    ports: service.ports.map((port) => ({
      name: portName(port),
      protocol: port.protocol,
      port: port.targetPort,
    })),
    endpoints: service.endpoints.slice(i * size, (i + 1) * size)
      .map((endpoint) => endpointManifest(endpoint, family)),
  }));
}

function endpointManifest(endpoint: EndpointDescription, family: IpFamily) {
  const { zoneHints, nodeHints } = endpoint;
  const named = (names: readonly string[]) => names.map((name) => ({ name }));
  const hints = {
    ...(zoneHints ? { forZones: named(zoneHints) } : {}),
    ...(nodeHints ? { forNodes: named(nodeHints) } : {}),
  };
  return {
    addresses: [endpointAddress(endpoint, family)],
    conditions: {
      ready: endpoint.ready ?? true,
      serving: endpoint.serving ?? true,
      terminating: endpoint.terminating ?? false,
    },
    nodeName: nodeNameOf(endpoint.host),
    ...(zoneHints || nodeHints ? { hints } : {}),
  };
}

function portName(port: PortDescription): string {
  return `${port.protocol.toLowerCase()}-${port.port}`;
}
