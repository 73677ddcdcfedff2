/**
 * Names of chains in the table `nat`, each with its mode, as all versions of Kubernetes' proxy have
 * named them. `KUBE-MARK-MASQ`, `KUBE-POSTROUTING` and `KUBE-MARK-DROP` are not here: kubelet made
 * them too, so that they tell of no proxy.
 */

/** Where these chains are. */
export const natTable = "nat";

/** Chains that decide where connections to Services go; of them the ipvs mode has the first two as well. */
export const serviceChains = ["KUBE-SERVICES", "KUBE-NODEPORTS"] as const;

/** Chains of the table nat that more than one mode has. */
export const NatChain = {
  /** All connections to Services. */
  services: "KUBE-SERVICES",
  /** Those to this machine's own addresses, by port. */
  nodePorts: "KUBE-NODEPORTS",
  /** Marks what leaves masqueraded. Others jump to it. */
  markMasquerade: "KUBE-MARK-MASQ",
  /** Masquerades what is marked. */
  postrouting: "KUBE-POSTROUTING",
} as const;

/** Chains of the table filter that more than one mode has. */
export const FilterChain = {
  /** Cluster IPs without endpoints. */
  services: "KUBE-SERVICES",
  /** All other frontends without endpoints. */
  externalServices: "KUBE-EXTERNAL-SERVICES",
  /** What goes through this machine. */
  forward: "KUBE-FORWARD",
  /** Ports at which load balancers ask for a Service's health. */
  nodePorts: "KUBE-NODEPORTS",
  /** Load balancer addresses that are not open to everybody. */
  proxyFirewall: "KUBE-PROXY-FIREWALL",
  /** kubelet's too: what must never come in from outside. */
  firewall: "KUBE-FIREWALL",
} as const;

/** Chains that ipvs mode alone has. */
export const IpvsChain = {
  /** nat: what is to be masqueraded of node ports; filter: health checks of load balancers. */
  nodePort: "KUBE-NODE-PORT",
  /** What is to be masqueraded of load balancer addresses. */
  loadBalancer: "KUBE-LOAD-BALANCER",
  /** Who may reach load balancer addresses that are not open to everybody. */
  sourceRanges: "KUBE-SOURCE-RANGES-FIREWALL",
  /** Keeps ports of this machine from being reached by addresses of Services. */
  filter: "KUBE-IPVS-FILTER",
  /** This machine itself, where it may not reach a load balancer address. */
  outFilter: "KUBE-IPVS-OUT-FILTER",
} as const;

/** A chain without rules in each table: whoever flushes the tables takes it along. */
export const canaryChain = "KUBE-PROXY-CANARY";

/** Chains that kubelet makes in the table mangle of the engine it writes to. */
export const hintChains = ["KUBE-IPTABLES-HINT", "KUBE-KUBELET-CANARY"] as const;

/** The chains of the mode that Kubernetes removed in 1.26. */
export const portalChains = [
  "KUBE-PORTALS-CONTAINER",
  "KUBE-PORTALS-HOST",
  "KUBE-NODEPORT-CONTAINER",
  "KUBE-NODEPORT-HOST",
] as const;
