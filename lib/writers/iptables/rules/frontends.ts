/**
 * A service port's rules in the chains that all share: which address and port leads to which chain,
 * and what is refused. Within a chain they stand in this order; among service ports the order is free.
 */
import type { XtMatch, XtRule, XtTarget } from "../../../kernel/xtables/rules.ts";
import type { ServicePort } from "../../../snapshot/snapshot.ts";
import { FilterChain, NatChain } from "../../kube_chains/names.ts";
import { comment, xtProtocolOf } from "../../kube_chains/rules.ts";
import { chainsOf, localhostCounter, servicePortName, wholeCidr } from "../names.ts";
import type { RuleContext } from "./context.ts";

/** A rule in a chain that all service ports share. */
export interface SharedRule {
  readonly table: "nat" | "filter";
  readonly chain: string;
  readonly rule: XtRule;
}

const loopback = "127.0.0.0/8";

/** All of a service port's rules in shared chains. */
export function frontendRules(
  servicePort: ServicePort,
  context: RuleContext,
): readonly SharedRule[] {
  return [
    ...clusterIP(servicePort, context),
    ...externalIPs(servicePort, context),
    ...loadBalancerVIPs(servicePort, context),
    ...nodePort(servicePort, context),
    ...healthCheckNodePort(servicePort),
  ];
}

function clusterIP(servicePort: ServicePort, context: RuleContext): readonly SharedRule[] {
  if (servicePort.clusterIP === "") return [];
  const frontend = { ip: servicePort.clusterIP, context };
  if (servicePort.internal !== "forward") {
    return [filter(FilterChain.services, refuse(servicePort, servicePort.internal, frontend))];
  }
  const { cluster, local } = chainsOf(servicePort);
  const chain = servicePort.internalPolicyLocal ? local : cluster;
  return [nat(NatChain.services, lead(servicePort, "cluster IP", { ...frontend, chain }))];
}

function externalIPs(servicePort: ServicePort, context: RuleContext): readonly SharedRule[] {
  if (servicePort.externalIPs.length === 0) return [];
  const { external } = chainsOf(servicePort);
  return servicePort.externalIPs.flatMap((ip) => [
    ...servicePort.hasEndpoints
      ? [
        nat(
          NatChain.services,
          lead(servicePort, "external IP", { ip, context, chain: external }),
        ),
      ]
      : [],
    ...refusedFromOutside(servicePort, { ip, context }),
  ]);
}

function loadBalancerVIPs(servicePort: ServicePort, context: RuleContext): readonly SharedRule[] {
  if (servicePort.loadBalancerVIPs.length === 0) return [];
  const { external, firewall } = chainsOf(servicePort);
  const isGuarded = servicePort.sourceRanges.length > 0;
  const name = servicePortName(servicePort);
  return servicePort.loadBalancerVIPs.flatMap((ip) => {
    const chain = isGuarded ? firewall : external;
    const drop = frontend(servicePort, {
      text: `${name} traffic not accepted by ${firewall}`,
      ip,
      context,
      target: { kind: "drop" },
    });
    return [
      ...servicePort.hasEndpoints
        ? [nat(NatChain.services, lead(servicePort, "loadbalancer IP", { ip, context, chain }))]
        : [],
      ...servicePort.hasEndpoints && isGuarded ? [filter(FilterChain.proxyFirewall, drop)] : [],
      ...refusedFromOutside(servicePort, { ip, context }),
    ];
  });
}

function nodePort(servicePort: ServicePort, context: RuleContext): readonly SharedRule[] {
  if (servicePort.nodePort === 0) return [];
  const found: SharedRule[] = [];
  if (servicePort.hasEndpoints) {
    const target: XtTarget = { kind: "jump", chain: chainsOf(servicePort).external };
    const rule = atNodePort(servicePort, { target });
    if (context.localhostNodePorts && context.counters.localhost) {
      found.push(nat(NatChain.nodePorts, {
        ...rule,
        destination: { cidr: loopback },
        matches: [...rule.matches, { kind: "nfacct", name: localhostCounter }],
      }));
    }
    found.push(nat(NatChain.nodePorts, rule));
  }
  if (servicePort.external === "forward") return found;
  const refused = refusal(servicePort, servicePort.external);
  // Whatever addresses node ports answer on: nobody else has the port.
  const local: XtMatch = { kind: "addrtype", destination: "LOCAL" };
  const rule = atNodePort(servicePort, { text: refused.text, local, target: refused.target });
  return [...found, filter(FilterChain.externalServices, rule)];
}

function healthCheckNodePort(servicePort: ServicePort): readonly SharedRule[] {
  const port = servicePort.healthCheckNodePort;
  if (port === 0) return [];
  return [filter(FilterChain.nodePorts, {
    protocol: "tcp",
    matches: [
      comment(`${servicePortName(servicePort)} health check node port`),
      { kind: "ports", protocol: "tcp", destination: port },
    ],
    target: { kind: "accept" },
  })];
}

interface Frontend {
  readonly ip: string;
  readonly context: RuleContext;
}

function refusedFromOutside(servicePort: ServicePort, at: Frontend): readonly SharedRule[] {
  const { external } = servicePort;
  if (external === "forward") return [];
  return [filter(FilterChain.externalServices, refuse(servicePort, external, at))];
}

function refuse(servicePort: ServicePort, fate: "reject" | "drop", at: Frontend): XtRule {
  return frontend(servicePort, { ...at, ...refusal(servicePort, fate) });
}

function refusal(
  servicePort: ServicePort,
  fate: "reject" | "drop",
): { readonly text: string; readonly target: XtTarget } {
  const name = servicePortName(servicePort);
  return fate === "reject"
    ? { text: `${name} has no endpoints`, target: { kind: "reject" } }
    : { text: `${name} has no local endpoints`, target: { kind: "drop" } };
}

function lead(
  servicePort: ServicePort,
  what: string,
  { chain, ...at }: Frontend & { readonly chain: string },
): XtRule {
  const text = `${servicePortName(servicePort)} ${what}`;
  return frontend(servicePort, { ...at, text, target: { kind: "jump", chain } });
}

function frontend(
  { port, protocol }: ServicePort,
  { context, ip, target, text }: Frontend & {
    readonly text: string;
    readonly target: XtTarget;
  },
): XtRule {
  const xtProtocol = xtProtocolOf(protocol);
  return {
    destination: { cidr: wholeCidr(ip, context.family) },
    protocol: xtProtocol,
    matches: [comment(text), { kind: "ports", protocol: xtProtocol, destination: port }],
    target,
  };
}

function atNodePort(
  servicePort: ServicePort,
  { local, target, text = servicePortName(servicePort) }: {
    readonly text?: string;
    readonly local?: XtMatch;
    readonly target: XtTarget;
  },
): XtRule {
  const protocol = xtProtocolOf(servicePort.protocol);
  return {
    protocol,
    matches: [
      comment(text),
      ...local ? [local] : [],
      { kind: "ports", protocol, destination: servicePort.nodePort },
    ],
    target,
  };
}

function nat(chain: string, rule: XtRule): SharedRule {
  return { table: "nat", chain, rule };
}

function filter(chain: string, rule: XtRule): SharedRule {
  return { table: "filter", chain, rule };
}
