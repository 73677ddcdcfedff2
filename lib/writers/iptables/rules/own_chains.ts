/** The chains that a service port has of its own, all in the table nat. Their order of rules is fixed. */
import {
  chanceOf,
  type XtMatch,
  type XtRule,
  type XtTarget,
} from "../../../kernel/xtables/rules.ts";
import type { Endpoint, ServicePort } from "../../../snapshot/snapshot.ts";
import { comment, localTraffic, toMasquerade, xtProtocolOf } from "../../kube_chains/rules.ts";
import { chainsOf, endpointChainOf, endpointName, servicePortName, wholeCidr } from "../names.ts";
import type { RuleContext } from "./context.ts";

const fromHere: XtMatch = { kind: "addrtype", source: "LOCAL" };

/**
 * The chains with their rules, each behind those that it leads to, so that a chain is complete before
 * another one leads to it.
 */
export function ownChains(
  servicePort: ServicePort,
  context: RuleContext,
): ReadonlyMap<string, readonly XtRule[]> {
  const names = chainsOf(servicePort);
  const { clusterEndpoints, hasEndpoints, localEndpoints } = servicePort;
  const chains = new Map<string, readonly XtRule[]>();
  const making = { servicePort, context, chainOf: endpointChains(servicePort) };
  for (const endpoint of servicePort.reachableEndpoints) {
    chains.set(making.chainOf(endpoint), endpointChain(endpoint, making));
  }
  if (clusterEndpoints.length > 0) {
    const head = servicePort.internalPolicyLocal ? [] : clusterIPHead(servicePort, context);
    const choice = choose(clusterEndpoints, making);
    chains.set(names.cluster, [...head, ...choice]);
  }
  if (localEndpoints.length > 0) {
    const head = servicePort.internalPolicyLocal ? clusterIPHead(servicePort, context) : [];
    chains.set(names.local, [...head, ...choose(localEndpoints, making)]);
  }
  if (hasEndpoints && servicePort.externallyAccessible) {
    chains.set(names.external, externalChain(servicePort, context));
  }
  const isGuarded = servicePort.loadBalancerVIPs.length > 0 && servicePort.sourceRanges.length > 0;
  if (hasEndpoints && isGuarded) {
    chains.set(names.firewall, firewallChain(servicePort, context));
  }
  return chains;
}

/** What the rules of endpoints are made of. */
interface Making {
  readonly servicePort: ServicePort;
  readonly context: RuleContext;
  readonly chainOf: (endpoint: Endpoint) => string;
}

/** Names of chains: each is a hash, which several rules ask for. */
function endpointChains(servicePort: ServicePort): Making["chainOf"] {
  const known = new Map<Endpoint, string>();
  return (endpoint) => {
    const name = known.get(endpoint) ?? endpointChainOf(servicePort, endpoint);
    known.set(endpoint, name);
    return name;
  };
}

/** What comes to the cluster IP from outside the cluster is masqueraded. */
function clusterIPHead(servicePort: ServicePort, context: RuleContext): readonly XtRule[] {
  if (servicePort.internal !== "forward" || servicePort.clusterIP === "") return [];
  const fromOutside = context.settings.masqueradeAll ? {} : localTraffic(context, { not: true });
  if (!fromOutside) return [];
  const protocol = xtProtocolOf(servicePort.protocol);
  return [{
    ...fromOutside,
    destination: { cidr: wholeCidr(servicePort.clusterIP, context.family) },
    protocol,
    matches: [
      comment(`${servicePortName(servicePort)} cluster IP`),
      { kind: "ports", protocol, destination: servicePort.port },
    ],
    target: toMasquerade,
  }];
}

/** Pinned clients first, then one of the endpoints at random, all with the same chance. */
function choose(
  endpoints: readonly Endpoint[],
  { chainOf, context, servicePort }: Making,
): readonly XtRule[] {
  const { affinitySeconds } = servicePort;
  const rules: XtRule[] = [];
  const target = (endpoint: Endpoint): XtTarget => ({
    kind: "jump",
    chain: chainOf(endpoint),
  });
  const about = (endpoint: Endpoint): readonly XtMatch[] =>
    context.isLarge
      ? []
      : [comment(`${servicePortName(servicePort)} -> ${endpointName(endpoint)}`)];
  for (const endpoint of affinitySeconds > 0 ? endpoints : []) {
    const name = chainOf(endpoint);
    rules.push({
      matches: [...about(endpoint), { kind: "recent-check", name, seconds: affinitySeconds }],
      target: target(endpoint),
    });
  }
  for (const [index, endpoint] of endpoints.entries()) {
    const left = endpoints.length - index;
    const chance: readonly XtMatch[] = left > 1
      ? [{ kind: "statistic", chance: chanceOf(left) }]
      : [];
    rules.push({ matches: [...about(endpoint), ...chance], target: target(endpoint) });
  }
  return rules;
}

/** What an endpoint sends to itself is masqueraded; everything is sent to the endpoint. */
function endpointChain(
  endpoint: Endpoint,
  { chainOf, context, servicePort }: Making,
): readonly XtRule[] {
  const about = context.isLarge ? [] : [comment(servicePortName(servicePort))];
  const protocol = xtProtocolOf(servicePort.protocol);
  const note: readonly XtMatch[] = servicePort.affinitySeconds > 0
    ? [{ kind: "recent-set", name: chainOf(endpoint) }]
    : [];
  return [
    {
      source: { cidr: wholeCidr(endpoint.ip, context.family) },
      matches: about,
      target: toMasquerade,
    },
    {
      protocol,
      matches: [...about, ...note, { kind: "ports", protocol }],
      target: { kind: "dnat", address: endpoint.ip, port: endpoint.port },
    },
  ];
}

function externalChain(servicePort: ServicePort, context: RuleContext): readonly XtRule[] {
  const { cluster, local } = chainsOf(servicePort);
  const toCluster: XtTarget = { kind: "jump", chain: cluster };
  const traffic = `traffic for ${servicePortName(servicePort)} external destinations`;
  if (!servicePort.externalPolicyLocal) {
    return [
      { matches: [comment(`masquerade ${traffic}`)], target: toMasquerade },
      { matches: [], target: toCluster },
    ];
  }
  const fromPods = localTraffic(context);
  return [
    // Pods of this node and the node itself reach all endpoints, as if by the cluster IP.
    ...fromPods ? [{ ...fromPods, matches: [comment(`pod ${traffic}`)], target: toCluster }] : [],
    { matches: [comment(`masquerade LOCAL ${traffic}`), fromHere], target: toMasquerade },
    { matches: [comment(`route LOCAL ${traffic}`), fromHere], target: toCluster },
    ...servicePort.external === "forward"
      ? [{ matches: [], target: { kind: "jump", chain: local } } satisfies XtRule]
      : [],
  ];
}

/** What no range lets through is dropped later: in the table nat nothing can be. */
function firewallChain(servicePort: ServicePort, context: RuleContext): readonly XtRule[] {
  const name = servicePortName(servicePort);
  const from = (cidr: string): XtRule => ({
    source: { cidr },
    matches: [comment(`${name} loadbalancer IP`)],
    target: { kind: "jump", chain: chainsOf(servicePort).external },
  });
  // A node that may come also comes with the load balancer's address as its source.
  const fromItself = servicePort.sourceRangesHoldNode ? servicePort.loadBalancerVIPs : [];
  return [
    ...servicePort.sourceRanges.map(from),
    ...fromItself.map((ip) => from(wholeCidr(ip, context.family))),
    { matches: [comment(`other traffic to ${name} will be dropped by KUBE-PROXY-FIREWALL`)] },
  ];
}
