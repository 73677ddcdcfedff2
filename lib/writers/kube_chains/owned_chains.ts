/** What iptables and userspace mode have in the tables of iptables, in all versions of Kubernetes' proxy. */
import type { XtOwned } from "../../kernel/xtables/remove.ts";
import { canaryChain, FilterChain, NatChain, portalChains } from "./names.ts";

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

/** What ipvs mode has as well, by table: it needs them as long as it serves. */
export const sharedWithIpvs: Readonly<Record<"nat" | "filter", readonly string[]>> = {
  nat: [NatChain.services, NatChain.postrouting, NatChain.markMasquerade],
  filter: [FilterChain.forward, FilterChain.proxyFirewall],
};

/** The link that ipvs mode has for as long as it serves, as its settings give it away. */
export const ipvsLinkSetting = "net/ipv4/conf/kube-ipvs0/forwarding";
