/** Chains whose rules are the same whatever Services there are, and the jumps that lead to ours. */
import type { XtMatch, XtRule, XtTable } from "../../../kernel/xtables/rules.ts";
import { canaryChain, FilterChain, NatChain } from "../../kube_chains/names.ts";
import {
  comment,
  forwardJumps,
  forwardRules,
  type Jump,
  jumpsTo,
  markRules,
  masqueradeRules,
  postroutingJumps,
  servicesJumps,
  type StaticChain,
} from "../../kube_chains/rules.ts";
import { invalidCounter } from "../names.ts";
import type { RuleContext } from "./context.ts";

/** Tables that this mode writes to. */
export const ownTables: readonly XtTable[] = ["filter", "nat", "mangle"];

/** The chains into which service ports put rules, by table. */
export const sharedChains: readonly { readonly table: "nat" | "filter"; readonly chain: string }[] =
  [
    { table: "nat", chain: NatChain.services },
    { table: "nat", chain: NatChain.nodePorts },
    { table: "filter", chain: FilterChain.services },
    { table: "filter", chain: FilterChain.externalServices },
    { table: "filter", chain: FilterChain.nodePorts },
    { table: "filter", chain: FilterChain.proxyFirewall },
  ];

/** Chains that only have to be there: kubelet fills the first, nobody the others. */
export const bareChains: readonly { readonly table: XtTable; readonly chain: string }[] = [
  { table: "filter", chain: FilterChain.firewall },
  ...ownTables.map((table) => ({ table, chain: canaryChain })),
];

/** Chains that are ours alone, with all their rules. */
export function staticChains(context: RuleContext): readonly StaticChain[] {
  const chains: StaticChain[] = [
    { table: "nat", chain: NatChain.markMasquerade, rules: markRules(context.mark) },
    { table: "nat", chain: NatChain.postrouting, rules: masqueradeRules(context.mark) },
    { table: "filter", chain: FilterChain.forward, rules: forward(context) },
  ];
  if (context.family === "IPv4" && context.localhostNodePorts) {
    chains.push({ table: "filter", chain: FilterChain.firewall, rules: [noMartians] });
  }
  return chains;
}

function forward({ counters, dropsInvalid, mark }: RuleContext): readonly XtRule[] {
  const invalid: XtMatch = { kind: "conntrack", states: ["INVALID"] };
  const counted: readonly XtMatch[] = counters.invalid
    ? [{ kind: "nfacct", name: invalidCounter }]
    : [];
  return [
    // Such a packet would leave without translation and be answered by a reset.
    ...dropsInvalid
      ? [{ matches: [invalid, ...counted], target: { kind: "drop" } } satisfies XtRule]
      : [],
    ...forwardRules(mark),
  ];
}

/** With route_localnet others on the network could reach what listens on 127.0.0.1 alone. */
const noMartians: XtRule = {
  source: { cidr: "127.0.0.0/8", not: true },
  destination: { cidr: "127.0.0.0/8" },
  matches: [
    comment("block incoming localnet connections"),
    { kind: "conntrack", states: ["RELATED", "ESTABLISHED", "DNAT"], not: true },
  ],
  target: { kind: "drop" },
};

/** The last rules of nat KUBE-SERVICES: what is no Service's address may still be a node port. */
export function nodePortDispatch(context: RuleContext): readonly XtRule[] {
  const { family, localhostNodePorts, settings } = context;
  const about = comment(
    "kubernetes service nodeports; NOTE: this must be the last rule in this chain",
  );
  const target = { kind: "jump", chain: NatChain.nodePorts } as const;
  const { nodePortAddresses } = settings;
  if (nodePortAddresses.kind === "all") {
    const loopback = family === "IPv6" ? "::1/128" : "127.0.0.0/8";
    const notLoopback = family === "IPv4" && localhostNodePorts
      ? {}
      : { destination: { cidr: loopback, not: true } };
    const local: XtMatch = { kind: "addrtype", destination: "LOCAL" };
    return [{ ...notLoopback, matches: [about, local], target }];
  }
  const { addresses, loopback = [] } = nodePortAddresses;
  const served = family === "IPv4" && localhostNodePorts ? [...addresses, ...loopback] : addresses;
  const length = family === "IPv4" ? 32 : 128;
  return served.map((ip) => ({
    destination: { cidr: `${ip}/${length}` },
    matches: [about],
    target,
  }));
}

/**
 * The last rule of filter KUBE-EXTERNAL-SERVICES: what is sent to a cluster IP that is on the link of ipvs mode
 * comes in, where nothing else leads to the chain that refuses.
 */
export function comingIn({ addressesAreHere }: RuleContext): readonly XtRule[] {
  if (!addressesAreHere) return [];
  const about = comment(
    "cluster IPs on kube-ipvs0; NOTE: this must be the last rule in this chain",
  );
  return [{ matches: [about], target: { kind: "jump", chain: FilterChain.services } }];
}

const isNew: XtMatch = { kind: "conntrack", states: ["NEW"] };

/** Chains that lead to ours, in the order in which they are put on top of their chains. */
export const jumps: readonly Jump[] = [
  ...jumpsTo(FilterChain.externalServices, {
    table: "filter",
    from: ["INPUT", "FORWARD"],
    matches: [isNew, comment("kubernetes externally-visible service portals")],
  }),
  ...jumpsTo(FilterChain.nodePorts, {
    table: "filter",
    from: ["INPUT"],
    matches: [comment("kubernetes health check service ports")],
  }),
  ...jumpsTo(FilterChain.services, {
    table: "filter",
    from: ["FORWARD", "OUTPUT"],
    matches: [isNew, comment("kubernetes service portals")],
  }),
  ...forwardJumps,
  ...jumpsTo(FilterChain.proxyFirewall, {
    table: "filter",
    from: ["INPUT", "OUTPUT", "FORWARD"],
    matches: [isNew, comment("kubernetes load balancer firewall")],
  }),
  ...servicesJumps,
  ...postroutingJumps,
  // kubelet has the same.
  ...jumpsTo(FilterChain.firewall, { table: "filter", from: ["INPUT", "OUTPUT"], matches: [] }),
];
