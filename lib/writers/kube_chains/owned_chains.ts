/** What the modes have in the tables of iptables, in all versions of Kubernetes' proxy. */
import type { XtOwned } from "../../kernel/xtables/remove.ts";
import type { XtPlace } from "../../kernel/xtables/rules.ts";
import { canaryChain, FilterChain, IpvsChain, NatChain, portalChains } from "./names.ts";

/** Nothing is a Service's by its beginning alone: `KUBE-SVC-mine` is somebody else's. */
const hashedChain = /^KUBE-(SVC|SVL|EXT|FW|SEP|XLB)-[A-Z2-7]{16}$/;

/** Chains and jumps of iptables mode. */
export const iptablesOwned: readonly XtOwned[] = [
  {
    table: "nat",
    chains: [NatChain.services, NatChain.nodePorts, canaryChain],
    pattern: hashedChain,
    // kubelet made them too, up to Kubernetes 1.27.
    companions: [NatChain.markMasquerade, NatChain.postrouting],
    plain: [NatChain.services, NatChain.nodePorts],
    jumpComments: ["kubernetes service portals", "kubernetes postrouting rules"],
  },
  {
    table: "filter",
    chains: [
      FilterChain.services,
      FilterChain.externalServices,
      FilterChain.forward,
      FilterChain.nodePorts,
      FilterChain.proxyFirewall,
      canaryChain,
    ],
    plain: [
      FilterChain.services,
      FilterChain.externalServices,
      FilterChain.nodePorts,
      FilterChain.proxyFirewall,
    ],
    jumpComments: [
      "kubernetes service portals",
      "kubernetes externally-visible service portals",
      "kubernetes health check service ports",
      "kubernetes forwarding rules",
      "kubernetes load balancer firewall",
    ],
    soleJumpComments: ["kubernetes load balancer firewall"],
  },
  { table: "mangle", chains: [canaryChain], jumpComments: [] },
];

/** Chains and jumps of the mode that Kubernetes removed in 1.26. */
export const userspaceOwned: readonly XtOwned[] = [
  {
    table: "nat",
    chains: portalChains,
    jumpComments: [
      "handle ClusterIPs; NOTE: this must be before the NodePort rules",
      "handle service NodePorts; NOTE: this must be the last rule in the chain",
    ],
  },
  {
    table: "filter",
    chains: ["KUBE-NODEPORT-NON-LOCAL"],
    jumpComments: ["Ensure that non-local NodePort traffic can flow"],
  },
];

/** Chains and jumps of ipvs mode. */
export const ipvsOwned: readonly XtOwned[] = [
  {
    table: "nat",
    chains: [
      NatChain.services,
      NatChain.postrouting,
      NatChain.markMasquerade,
      IpvsChain.nodePort,
      IpvsChain.loadBalancer,
    ],
    jumpComments: ["kubernetes service portals", "kubernetes postrouting rules"],
  },
  {
    table: "filter",
    chains: [
      FilterChain.forward,
      FilterChain.proxyFirewall,
      IpvsChain.nodePort,
      IpvsChain.sourceRanges,
      IpvsChain.filter,
      IpvsChain.outFilter,
    ],
    jumpComments: [
      "kubernetes forwarding rules",
      "kubernetes health check rules",
      "kube-proxy firewall rules",
      "kubernetes ipvs access filter",
    ],
    soleJumpComments: ["kube-proxy firewall rules"],
  },
];

/** What iptables and ipvs mode both have, by table: each needs them as long as it serves. */
export const sharedChains: Readonly<Record<"nat" | "filter", readonly string[]>> = {
  nat: [NatChain.services, NatChain.postrouting, NatChain.markMasquerade],
  filter: [FilterChain.forward, FilterChain.proxyFirewall],
};

/** Whether it is one of them. */
export function isSharedChain({ chain, table }: XtPlace): boolean {
  return (table === "nat" || table === "filter") && sharedChains[table].includes(chain);
}

/** Whether a chain of the table nat is iptables mode's and no other mode's. */
export function isIptablesChain(name: string): boolean {
  return name === NatChain.nodePorts || name === canaryChain || hashedChain.test(name);
}
