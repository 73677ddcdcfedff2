/** Builds service ports for tests out of a few words for each endpoint. */
import {
  buildServicePort,
  type NodeContext,
  type PortSpec,
  type ServiceSpec,
} from "../../../lib/snapshot/build_service_port.ts";
import type { Candidate } from "../../../lib/snapshot/categorize_endpoints.ts";
import type { Endpoint, ServicePort } from "../../../lib/snapshot/snapshot.ts";

/** Endpoint number N is 10.128.0.N:80. */
function addressOf(id: number): string {
  return `10.128.0.${id}`;
}

/** The numbers of endpoints. */
export function idsOf(endpoints: readonly Endpoint[]): readonly number[] {
  return endpoints.map(({ ip }) => Number(ip.split(".")[3]));
}

/**
 * `3: "ready here zone=a,b node=n1"`. Readiness is one of `ready`, `fading` (serves while it
 * terminates), `serving` (and nothing else), `unready`; `here` is on this node.
 */
export type EndpointWords = Readonly<Record<number, string>>;

export interface PortDescription {
  readonly service?: Partial<ServiceSpec>;
  readonly port?: Partial<PortSpec>;
  readonly node?: Partial<NodeContext>;
  readonly endpoints?: EndpointWords;
}

/** The service port `shop/web:http/TCP` at 172.30.0.1:80, and what the test changes of it. */
export function describedPort(description: PortDescription): ServicePort {
  const service: ServiceSpec = {
    namespace: "shop",
    name: "web",
    clusterIP: "172.30.0.1",
    externalIPs: [],
    loadBalancerVIPs: [],
    sourceRanges: [],
    affinitySeconds: 0,
    internalPolicyLocal: false,
    externalPolicyLocal: false,
    listsExternalIPs: false,
    healthCheckNodePort: 0,
    ...description.service,
  };
  const port: PortSpec = {
    key: "shop/web:http/TCP",
    portName: "http",
    protocol: "TCP",
    port: 80,
    nodePort: 0,
    ...description.port,
  };
  const candidates = Object.entries(description.endpoints ?? {}).map(([id, words]) =>
    candidate(Number(id), words)
  );
  return buildServicePort({
    service,
    port,
    owned: { ...service, nodePort: port.nodePort },
    candidates,
    node: { name: "n1", zone: "a", ...description.node },
  });
}

function candidate(id: number, text: string): Candidate {
  const words = text.split(" ");
  const list = (name: string) =>
    words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1).split(",") ?? [];
  const isLocal = words.includes("here");
  return {
    endpoint: { ip: addressOf(id), port: 80, isLocal },
    state: {
      ready: words.includes("ready"),
      serving: ["ready", "fading", "serving"].some((word) => words.includes(word)),
      terminating: words.includes("fading"),
      nodeName: isLocal ? "n1" : "",
      zoneHints: list("zone"),
      nodeHints: list("node"),
    },
  };
}
