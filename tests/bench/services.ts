/** A cluster of Services that are all alike, as desired state: what writers are measured with. */
import type { Endpoint, ServicePort, Snapshot } from "../../lib/snapshot/snapshot.ts";
import { servicePortOf } from "../fakes/service_ports.ts";

/** How large the cluster is. */
export interface ClusterSize {
  readonly services: number;
  readonly endpoints: number;
}

/** The snapshot of a cluster in IPv4. */
export function snapshotOf(ports: readonly ServicePort[]): Snapshot {
  return {
    family: "IPv4",
    settings: {
      masqueradeAll: false,
      localTraffic: { kind: "source", cidr: "10.128.0.0/14" },
      nodePortAddresses: { kind: "listed", addresses: ["192.168.0.1"] },
      serviceCIDRs: ["172.30.0.0/16"],
      leftovers: false,
    },
    services: new Map(ports.map((port) => [port.key, port])),
  };
}

/** The service ports of the cluster, in order of their number. */
export function servicePorts({ endpoints, services }: ClusterSize): readonly ServicePort[] {
  return Array.from({ length: services }, (_, number) => servicePort(number, endpoints));
}

/** The same service port with other endpoints, as many as before. */
export function withOtherEndpoints(port: ServicePort): ServicePort {
  const endpoints = port.clusterEndpoints.map((each) => ({ ...each, port: each.port + 1 }));
  return { ...port, clusterEndpoints: endpoints, reachableEndpoints: endpoints };
}

function servicePort(number: number, endpointCount: number): ServicePort {
  const namespace = `ns-${number % 100}`;
  const name = `svc-${number}`;
  const endpoints = Array.from(
    { length: endpointCount },
    (_, i): Endpoint => ({
      ip: podAddress(number * endpointCount + i),
      port: 8080,
      isLocal: false,
    }),
  );
  return servicePortOf({
    key: `${namespace}/${name}:http/TCP`,
    namespace,
    name,
    portName: "http",
    clusterIP: `172.30.${(number + 256) >> 8}.${number & 255}`,
    internal: "forward",
    external: "forward",
    hasEndpoints: endpointCount > 0,
    clusterEndpoints: endpoints,
    reachableEndpoints: endpoints,
  });
}

/** Addresses repeat beyond the range of all pods, as ports of one pod do. */
function podAddress(number: number): string {
  const host = number % (1 << 18);
  return `10.${128 + (host >> 16)}.${(host >> 8) & 255}.${host & 255}`;
}
