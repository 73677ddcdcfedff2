/** Decides one service port: who owns which frontend is known, endpoints and policies are weighed here. */
import { cidrContains, parseCidr } from "../base/ip.ts";
import type { Protocol } from "../base/protocol.ts";
import { type Candidate, categorizeEndpoints } from "./categorize_endpoints.ts";
import type { Endpoint, Fate, ServicePort, ServicePortKey } from "./snapshot.ts";
import type { NodePlace } from "./topology.ts";

/** What a Service asks for in one family, whatever its port; addresses are canonical. */
export interface ServiceSpec {
  readonly namespace: string;
  readonly name: string;
  readonly clusterIP: string;
  readonly externalIPs: readonly string[];
  readonly loadBalancerVIPs: readonly string[];
  readonly sourceRanges: readonly string[];
  readonly affinitySeconds: number;
  readonly internalPolicyLocal: boolean;
  readonly externalPolicyLocal: boolean;
  /** Lists external IPs of this family, even where they are not programmed. */
  readonly listsExternalIPs: boolean;
  readonly healthCheckNodePort: number;
}

/** What one port of a Service adds. */
export interface PortSpec {
  readonly key: ServicePortKey;
  readonly portName: string;
  readonly protocol: Protocol;
  readonly port: number;
  readonly nodePort: number;
}

/** The frontends that are left after older Services took theirs. */
export type OwnedFrontends = Pick<
  ServicePort,
  "clusterIP" | "externalIPs" | "loadBalancerVIPs" | "nodePort"
>;

/** This node as the decisions see it; `ip` is the node's address as 4 or 16 bytes, if known. */
export interface NodeContext extends NodePlace {
  readonly ip?: Uint8Array;
}

/** Everything that one service port depends on. */
export interface ServicePortInputs {
  readonly service: ServiceSpec;
  readonly port: PortSpec;
  readonly owned: OwnedFrontends;
  /** Unique and in the endpoints' order. */
  readonly candidates: readonly Candidate[];
  readonly node: NodeContext;
}

/** The same inputs give an equal service port; endpoint objects are those of the candidates. */
export function buildServicePort(inputs: ServicePortInputs): ServicePort {
  const { service, port, owned, candidates, node } = inputs;
  const externallyAccessible = port.nodePort !== 0 || service.loadBalancerVIPs.length > 0 ||
    service.listsExternalIPs;
  const { cluster, local, reachable, hasEndpoints } = categorizeEndpoints(candidates, {
    cluster: !service.internalPolicyLocal || externallyAccessible,
    local: service.internalPolicyLocal || (service.externalPolicyLocal && externallyAccessible),
  }, node);
  const fate = (policyLocal: boolean): Fate => {
    if (!hasEndpoints) return "reject";
    return policyLocal && local.length === 0 ? "drop" : "forward";
  };
  return {
    key: port.key,
    namespace: service.namespace,
    name: service.name,
    portName: port.portName,
    protocol: port.protocol,
    clusterIP: owned.clusterIP,
    port: port.port,
    externalIPs: owned.externalIPs,
    loadBalancerVIPs: owned.loadBalancerVIPs,
    nodePort: owned.nodePort,
    sourceRanges: service.sourceRanges,
    sourceRangesHoldNode: rangesHold(service.sourceRanges, node.ip),
    affinitySeconds: service.affinitySeconds,
    internalPolicyLocal: service.internalPolicyLocal,
    externalPolicyLocal: service.externalPolicyLocal,
    externallyAccessible,
    internal: fate(service.internalPolicyLocal),
    external: fate(service.externalPolicyLocal),
    hasEndpoints,
    clusterEndpoints: cluster,
    localEndpoints: local,
    reachableEndpoints: reachable,
    nodeEndpoints: nodeEndpointsOf(candidates, [local, cluster]),
    endpointCount: candidates.length,
    servingEndpoints: port.protocol === "UDP" ? servingOf(candidates, cluster) : none,
    healthCheckNodePort: service.healthCheckNodePort,
  };
}

const none: readonly Endpoint[] = [];

function nodeEndpointsOf(
  candidates: readonly Candidate[],
  known: readonly (readonly Endpoint[])[],
): readonly Endpoint[] {
  const here = candidates.filter(({ endpoint }) => endpoint.isLocal);
  if (here.length === 0) return none;
  const same = known.find((list) =>
    list.length === here.length && here.every(({ endpoint }, i) => endpoint === list[i])
  );
  return same ?? here.map(({ endpoint }) => endpoint);
}

function servingOf(
  candidates: readonly Candidate[],
  cluster: readonly Endpoint[],
): readonly Endpoint[] {
  const serving = candidates.filter(({ state }) => state.serving).map(({ endpoint }) => endpoint);
  const sameAsCluster = serving.length === cluster.length &&
    serving.every((endpoint, i) => endpoint === cluster[i]);
  return sameAsCluster ? cluster : serving;
}

function rangesHold(ranges: readonly string[], address: Uint8Array | undefined): boolean {
  if (!address) return false;
  return ranges.some((range) => {
    const cidr = parseCidr(range);
    return cidr !== undefined && cidrContains(cidr, address);
  });
}
