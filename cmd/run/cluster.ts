/** The state of the cluster as the configuration wants it to be seen. */
import type { ProxyConfiguration } from "../../lib/config/internal.ts";
import type { Kernel } from "../../lib/kernel/kernel.ts";
import { ClusterState, type LocalTrafficMode } from "../../lib/trackers/cluster_state.ts";
import { ipFamilies } from "../../lib/base/ip_family.ts";
import type { RunOptions } from "../run_options.ts";

export interface ClusterFacts {
  readonly nodeName: string;
  readonly startMs: number;
  readonly kernel: Kernel;
}

/** Both families are followed; which of them is programmed is known only when the Node is. */
export function clusterStateOf(
  { configuration, gates }: RunOptions,
  { nodeName, startMs, kernel }: ClusterFacts,
): ClusterState {
  const state = new ClusterState({
    families: ipFamilies,
    nodeName,
    nodeIPOverride: configuration.nodeIPOverride,
    masqueradeAll: configuration.linux.masqueradeAll,
    localTraffic: localTrafficOf(configuration),
    nodePortAddresses: configuration.nodePortAddresses,
    allowExternalIPs: gates.enabled("AllowServiceExternalIPs"),
    startedMs: startMs,
  });
  state.setInterfaceAddresses(kernel.links.addresses().map(({ ip }) => ip));
  return state;
}

function localTrafficOf({ detectLocalMode, detectLocal }: ProxyConfiguration): LocalTrafficMode {
  switch (detectLocalMode) {
    case "ClusterCIDR":
      return { kind: "cluster-cidr", clusterCIDRs: detectLocal.clusterCIDRs };
    case "NodeCIDR":
      return { kind: "node-cidr" };
    case "BridgeInterface":
      return { kind: "bridge-interface", name: detectLocal.bridgeInterface };
    case "InterfaceNamePrefix":
      return { kind: "interface-name-prefix", prefix: detectLocal.interfaceNamePrefix };
    case "":
      return { kind: "none" };
  }
}
