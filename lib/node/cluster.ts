/** The state of the cluster as the configuration wants it to be seen. */
import { ipFamilies } from "../base/ip_family.ts";
import type { FeatureGates } from "../config/feature_gates.ts";
import type { ProxyConfiguration } from "../config/internal.ts";
import { ClusterState, type LocalTrafficMode } from "../trackers/cluster_state.ts";

/** What is known of the cluster before anything was read of it. */
export interface ClusterFacts {
  readonly configuration: ProxyConfiguration;
  readonly gates: FeatureGates;
  readonly nodeName: string;
  readonly startMs: number;
  /** What the mode says of itself. */
  readonly listsAllAddresses: boolean;
}

/** Both families are followed; which of them is programmed is known only when the Node is. */
export function clusterStateOf(
  { configuration, gates, nodeName, startMs, listsAllAddresses }: ClusterFacts,
): ClusterState {
  return new ClusterState({
    families: ipFamilies,
    nodeName,
    nodeIPOverride: configuration.nodeIPOverride,
    masqueradeAll: configuration.linux.masqueradeAll,
    localTraffic: localTrafficOf(configuration),
    nodePortAddresses: configuration.nodePortAddresses,
    listsAllAddresses,
    allowExternalIPs: gates.enabled("AllowServiceExternalIPs"),
    startedMs: startMs,
  });
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
