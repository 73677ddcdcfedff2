/** Chains whose rules depend on which sets have members and on the settings, and on no Service by itself. Pure. */
import type { XtMatch, XtRule, XtTable, XtTarget } from "../../../kernel/xtables/rules.ts";
import { FilterChain, IpvsChain, NatChain } from "../../kube_chains/names.ts";
import {
  comment,
  forwardJumps,
  forwardRules,
  type Jump,
  jumpsTo,
  localTraffic,
  markRules,
  masqueradeRules,
  postroutingJumps,
  servicesJumps,
  type StaticChain,
  toMasquerade,
} from "../../kube_chains/rules.ts";
import type { IpvsContext } from "../contribution.ts";
import type { SetRole } from "../names.ts";
import { explained, inSet } from "./matches.ts";

/** What the chains depend on. */
export interface ChainInputs {
  readonly context: IpvsContext;
  /** Whether a set has members. Most rules are there only where theirs has. */
  readonly hasMembers: (role: SetRole) => boolean;
}

/** Tables that this mode writes to. */
export const ownTables: readonly XtTable[] = ["nat", "filter"];

/** The chain that service ports put rules into, in any order. */
export const outFilter = { table: "filter", chain: IpvsChain.outFilter } as const;

const accept: XtTarget = { kind: "accept" };
const giveBack: XtTarget = { kind: "return" };
const drop: XtTarget = { kind: "drop" };
const toHere: XtMatch = { kind: "addrtype", destination: "LOCAL" };

/** All chains but `outFilter`, each behind those that it leads to. */
export function skeleton(inputs: ChainInputs): readonly StaticChain[] {
  const { mark } = inputs.context;
  return [
    { table: "nat", chain: NatChain.markMasquerade, rules: markRules(mark) },
    { table: "nat", chain: IpvsChain.nodePort, rules: nodePort(inputs) },
    { table: "nat", chain: IpvsChain.loadBalancer, rules: loadBalancer(inputs) },
    { table: "nat", chain: NatChain.services, rules: services(inputs) },
    { table: "nat", chain: NatChain.postrouting, rules: postrouting(inputs) },
    { table: "filter", chain: FilterChain.forward, rules: forwardRules(mark) },
    { table: "filter", chain: IpvsChain.nodePort, rules: healthChecks(inputs) },
    { table: "filter", chain: IpvsChain.sourceRanges, rules: sourceRanges(inputs) },
    { table: "filter", chain: FilterChain.proxyFirewall, rules: proxyFirewall(inputs) },
    { table: "filter", chain: IpvsChain.filter, rules: hostFilter(inputs) },
  ];
}

/** Chains that lead to ours, in the order in which they are put on top of their chains. */
export const jumps: readonly Jump[] = [
  ...servicesJumps,
  ...postroutingJumps,
  ...forwardJumps,
  ...jumpsTo(IpvsChain.nodePort, {
    table: "filter",
    from: ["INPUT"],
    matches: [comment("kubernetes health check rules")],
  }),
  ...jumpsTo(FilterChain.proxyFirewall, {
    table: "filter",
    from: ["INPUT", "FORWARD"],
    matches: [comment("kube-proxy firewall rules")],
  }),
  ...jumpsTo(IpvsChain.filter, {
    table: "filter",
    from: ["INPUT"],
    matches: [comment("kubernetes ipvs access filter")],
  }),
  ...jumpsTo(IpvsChain.outFilter, {
    table: "filter",
    from: ["OUTPUT"],
    matches: [comment("kubernetes ipvs access filter")],
  }),
];

function services({ context, hasMembers }: ChainInputs): readonly XtRule[] {
  const { family } = context;
  const rules: XtRule[] = [{
    source: { cidr: family === "IPv4" ? "127.0.0.0/8" : "::1/128" },
    matches: [],
    target: giveBack,
  }];
  if (hasMembers("loadBalancer")) {
    const target: XtTarget = { kind: "jump", chain: IpvsChain.loadBalancer };
    rules.push({ matches: explained("loadBalancer", ["dst", "dst"], family), target });
  }
  if (hasMembers("clusterIP")) rules.push(masqueradedClusterIP(context));
  for (const role of ["externalIP", "externalIPLocal"] as const) {
    if (!hasMembers(role)) continue;
    const matches = explained(role, ["dst", "dst"], family);
    if (role === "externalIP") rules.push({ matches, target: toMasquerade });
    rules.push(
      {
        // What comes neither over a bridge nor from here came from outside the node.
        matches: [
          ...matches,
          { kind: "physdev-is-in", not: true },
          { kind: "addrtype", source: "LOCAL", notSource: true },
        ],
        target: accept,
      },
      { matches: [...matches, toHere], target: accept },
    );
  }
  rules.push({ matches: [toHere], target: { kind: "jump", chain: IpvsChain.nodePort } });
  for (const role of ["clusterIP", "loadBalancer"] as const) {
    if (!hasMembers(role)) continue;
    rules.push({ matches: [inSet(role, ["dst", "dst"], family)], target: accept });
  }
  return rules;
}

/** What comes to cluster IPs from outside the cluster, as far as that can be told. */
function masqueradedClusterIP(context: IpvsContext): XtRule {
  const { family, settings } = context;
  const fromOutside = settings.masqueradeAll ? {} : localTraffic(context, { not: true });
  // A node that talks to one of its Services by its own such address must not be answered directly.
  const sides = fromOutside ? ["dst", "dst"] as const : ["src", "dst"] as const;
  const matches = explained("clusterIP", sides, family);
  return { ...fromOutside, matches, target: toMasquerade };
}

function loadBalancer({ context: { family }, hasMembers }: ChainInputs): readonly XtRule[] {
  const local: XtRule = {
    matches: explained("loadBalancerLocal", ["dst", "dst"], family),
    target: giveBack,
  };
  return [
    ...hasMembers("loadBalancerLocal") ? [local] : [],
    { matches: [], target: toMasquerade },
  ];
}

function nodePort({ context: { family }, hasMembers }: ChainInputs): readonly XtRule[] {
  const rules: XtRule[] = [];
  for (const protocol of ["tcp", "udp", "sctp"] as const) {
    const upper = ({ tcp: "TCP", udp: "UDP", sctp: "SCTP" } as const)[protocol];
    const sides = protocol === "sctp" ? ["dst", "dst"] as const : ["dst"] as const;
    const add = (role: `nodePort${"Local" | ""}${typeof upper}`, target: XtTarget) => {
      if (!hasMembers(role)) return;
      rules.push({ protocol, matches: explained(role, sides, family), target });
    };
    add(`nodePortLocal${upper}`, giveBack);
    add(`nodePort${upper}`, toMasquerade);
  }
  return rules;
}

function postrouting({ context: { family, mark }, hasMembers }: ChainInputs): readonly XtRule[] {
  const hairpin: XtRule = {
    matches: explained("loopBack", ["dst", "dst", "src"], family),
    target: { kind: "masquerade", randomFully: false },
  };
  return [...hasMembers("loopBack") ? [hairpin] : [], ...masqueradeRules(mark)];
}

function healthChecks({ context: { family } }: ChainInputs): readonly XtRule[] {
  return [{ matches: explained("healthCheckNodePort", ["dst"], family), target: accept }];
}

function proxyFirewall({ context: { family }, hasMembers }: ChainInputs): readonly XtRule[] {
  if (!hasMembers("loadBalancerGuarded")) return [];
  const target: XtTarget = { kind: "jump", chain: IpvsChain.sourceRanges };
  return [{ matches: explained("loadBalancerGuarded", ["dst", "dst"], family), target }];
}

function sourceRanges({ context: { family }, hasMembers }: ChainInputs): readonly XtRule[] {
  const rules: XtRule[] = [];
  for (const role of ["loadBalancerSourceCIDR", "loadBalancerSourceIP"] as const) {
    if (!hasMembers(role)) continue;
    rules.push({ matches: explained(role, ["dst", "dst", "src"], family), target: giveBack });
  }
  return [...rules, { matches: [], target: drop }];
}

/** An address on the link is this machine's: without these its other ports would answer there. */
function hostFilter({ context: { family } }: ChainInputs): readonly XtRule[] {
  const roles = ["loadBalancer", "clusterIP", "externalIP", "externalIPLocal"] as const;
  return [
    ...roles.map((role): XtRule => ({
      matches: [inSet(role, ["dst", "dst"], family)],
      target: giveBack,
    })),
    { matches: [inSet("healthCheckNodePort", ["dst"], family)], target: giveBack },
    {
      matches: [
        { kind: "conntrack", states: ["NEW"] },
        inSet("boundAddress", ["dst"], family),
      ],
      target: { kind: "reject" },
    },
  ];
}
