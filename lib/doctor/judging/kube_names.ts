/** Names that Kubernetes' components give to what they make in the kernel. */

/** The table of nftables mode. */
export const proxyTable = "kube-proxy";
/** The interface of ipvs mode. */
export const ipvsInterface = "kube-ipvs0";
/** Which chains and sets are a proxy's or kubelet's. */
export const kubePrefix = "KUBE-";

const perService = /^KUBE-(SVC|SVL|SEP|EXT|FW|XLB)-/;

/** A chain for one Service or endpoint: there may be a hundred thousand. */
export function isServiceChain(chain: string): boolean {
  return perService.test(chain);
}

/** Made by kubelet; all other chains of the prefix are a proxy's, and go with its mode. */
const kubelets = new Set([
  "KUBE-FIREWALL",
  "KUBE-MARK-DROP",
  "KUBE-KUBELET-CANARY",
  "KUBE-IPTABLES-HINT",
]);

/** Whether a chain goes with the mode that made it. */
export function goesWithItsMode(chain: string): boolean {
  return chain.startsWith(kubePrefix) && !kubelets.has(chain);
}

/** Chains to which a proxy or kubelet leads packets from the chains that the kernel calls. */
const entrances = new Set([
  "KUBE-EXTERNAL-SERVICES",
  "KUBE-FIREWALL",
  "KUBE-FORWARD",
  "KUBE-IPVS-FILTER",
  "KUBE-IPVS-OUT-FILTER",
  "KUBE-NODE-PORT",
  "KUBE-NODEPORTS",
  "KUBE-POSTROUTING",
  "KUBE-PROXY-FIREWALL",
  "KUBE-SERVICES",
  "KUBE-SOURCE-RANGES-FIREWALL",
]);

/** Whether a chain is one that its owner jumps to from the chains that the kernel calls. */
export function isJumpOfItsOwn(chain: string): boolean {
  return entrances.has(chain);
}

/** Chains that ipvs mode has and no other. */
export const ipvsChains: readonly string[] = [
  "KUBE-IPVS-FILTER",
  "KUBE-IPVS-OUT-FILTER",
  "KUBE-LOAD-BALANCER",
  "KUBE-NODE-PORT",
  "KUBE-SOURCE-RANGES-FIREWALL",
];
