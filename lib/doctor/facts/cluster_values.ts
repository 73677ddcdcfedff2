/** What is known of the cluster and of the configuration: types of facts. */
import type { ProxyConfiguration } from "../../config/internal.ts";

/** The configuration of the proxy that serves now. */
export interface ConfigurationFacts {
  /** `/etc/kube-proxy.yaml`, `configmap kube-system/kube-proxy`. */
  readonly where: string;
  /** Everything that is wrong with it, read strictly; each a line. */
  readonly problems: readonly string[];
  /** As `run` would read it; undefined where it would refuse. */
  readonly configuration: ProxyConfiguration | undefined;
}

/** Something that runs on every node, or somewhere in the cluster. */
export interface Workload {
  readonly kind: "DaemonSet" | "Deployment";
  readonly namespace: string;
  readonly name: string;
  /** Of all its containers. */
  readonly images: readonly string[];
  /** Commands and arguments of all its containers. */
  readonly words: readonly string[];
  readonly env: ReadonlyMap<string, string>;
}

/** Networking software of the cluster, and how it is set. */
export interface ClusterSoftware {
  readonly workloads: readonly Workload[];
  /** Values of some objects, by what they are called here; those that are not there are not in it. */
  readonly settings: ReadonlyMap<SoftwareSetting, string>;
}

/** Settings that the checks ask for. */
export type SoftwareSetting =
  | "antrea.proxyAll"
  | "calico.linuxDataplane"
  | "calico.nftablesMode"
  | "cilium.kubeProxyReplacement"
  | "flannel.EnableNFTables"
  | "istio.nativeNftables";

/** An alert or a dashboard that names a metric which changes. */
export interface MetricUser {
  /** `PrometheusRule monitoring/kube-proxy`. */
  readonly where: string;
  readonly metrics: readonly string[];
}

/** What this program's identity may not do in the cluster. */
export interface AccessFacts {
  /** `list endpointslices.discovery.k8s.io`. */
  readonly denied: readonly string[];
}

/** Facts of cluster and configuration by name. */
export interface ClusterValues {
  /** Absent where none is named and none is found. */
  readonly configuration: ConfigurationFacts;
  readonly clusterVersion: { readonly major: number; readonly minor: number };
  readonly software: ClusterSoftware;
  readonly metricUsers: readonly MetricUser[];
  readonly access: AccessFacts;
}
