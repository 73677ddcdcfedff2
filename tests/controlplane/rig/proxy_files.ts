/** What a node's proxy finds on its disk: a kubeconfig with its token, and the file kubeadm writes. */
import type { ControlPlaneAccess } from "./control_plane.ts";

/** A kubeconfig as JSON, which is YAML too, for the user system:kube-proxy. */
function proxyKubeconfig(
  access: ControlPlaneAccess,
  { server = access.url, token = access.proxyToken } = {},
): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{
      name: "default",
      cluster: { server, "certificate-authority-data": btoa(access.caCertificate) },
    }],
    users: [{ name: "default", user: { token } }],
    contexts: [{ name: "default", context: { cluster: "default", user: "default" } }],
    "current-context": "default",
  });
}

/** Settings that tests change; the rest is what kubeadm writes. */
export interface KubeadmSettings {
  readonly kubeconfig: string;
  readonly clusterCIDR?: string;
  readonly mode?: string;
  readonly detectLocalMode?: string;
  readonly healthzBindAddress?: string;
  readonly metricsBindAddress?: string;
  readonly bindAddressHardFail?: boolean;
  readonly masqueradeAll?: boolean;
  readonly minSyncPeriod?: string;
  readonly syncPeriod?: string;
  readonly nodePortAddresses?: readonly string[];
  /** What ipvs mode leaves alone. */
  readonly excludeCIDRs?: readonly string[];
  readonly verbosity?: number;
}

/**
 * `config.conf` of kubeadm's ConfigMap, but for the mode and the connection table, whose size a
 * network namespace does not have to give.
 */
function kubeadmConfiguration(settings: KubeadmSettings): string {
  const { mode = "nftables", nodePortAddresses } = settings;
  const ipvs = sectionOf("ipvs", settings);
  return `apiVersion: kubeproxy.config.k8s.io/v1alpha1
bindAddress: 0.0.0.0
bindAddressHardFail: ${settings.bindAddressHardFail ?? false}
clientConnection:
  acceptContentTypes: ""
  burst: 0
  contentType: ""
  kubeconfig: ${settings.kubeconfig}
  qps: 0
clusterCIDR: ${settings.clusterCIDR || '""'}
configSyncPeriod: 0s
conntrack:
  maxPerCore: 0
  min: 0
  tcpBeLiberal: false
  tcpCloseWaitTimeout: 0s
  tcpEstablishedTimeout: 0s
  udpStreamTimeout: 0s
  udpTimeout: 0s
detectLocal:
  bridgeInterface: ""
  interfaceNamePrefix: ""
detectLocalMode: "${settings.detectLocalMode ?? ""}"
enableProfiling: false
healthzBindAddress: "${settings.healthzBindAddress ?? ""}"
hostnameOverride: ""
iptables:
  localhostNodePorts: null
${rulesSettings(sectionOf("iptables", settings))}
ipvs:
  excludeCIDRs: ${settings.excludeCIDRs ? JSON.stringify(settings.excludeCIDRs) : "null"}
  minSyncPeriod: ${ipvs.minSyncPeriod ?? "0s"}
  scheduler: ""
  strictARP: false
  syncPeriod: ${ipvs.syncPeriod ?? "0s"}
  tcpFinTimeout: 0s
  tcpTimeout: 0s
  udpTimeout: 0s
kind: KubeProxyConfiguration
logging:
  flushFrequency: 0
  options:
    json:
      infoBufferSize: "0"
    text:
      infoBufferSize: "0"
  verbosity: ${settings.verbosity ?? 0}
metricsBindAddress: "${settings.metricsBindAddress ?? ""}"
mode: "${mode}"
nftables:
${rulesSettings(sectionOf("nftables", settings))}
nodePortAddresses: ${nodePortAddresses ? JSON.stringify(nodePortAddresses) : "null"}
oomScoreAdj: null
portRange: ""
showHiddenMetricsForVersion: ""
winkernel:
  enableDSR: false
  forwardHealthCheckVip: false
  networkName: ""
  rootHnsEndpointName: ""
  sourceVip: ""
`;
}

type RulesSettings = Pick<KubeadmSettings, "masqueradeAll" | "minSyncPeriod" | "syncPeriod">;

/** What a section says: the mode's own has what a test changes, but ipvs mode masquerades by iptables' section. */
function sectionOf(section: string, settings: KubeadmSettings): RulesSettings {
  const { mode = "nftables", masqueradeAll, minSyncPeriod, syncPeriod } = settings;
  if (section === mode) return { masqueradeAll, minSyncPeriod, syncPeriod };
  return section === "iptables" && mode === "ipvs" ? { masqueradeAll } : {};
}

/** What iptables' and nftables' sections share. */
function rulesSettings({ masqueradeAll, minSyncPeriod, syncPeriod }: RulesSettings): string {
  return `  masqueradeAll: ${masqueradeAll ?? false}
  masqueradeBit: null
  minSyncPeriod: ${minSyncPeriod ?? "0s"}
  syncPeriod: ${syncPeriod ?? "0s"}`;
}

/** A folder with both files, removed when disposed. */
export class ProxyFiles implements AsyncDisposable {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async create(
    access: ControlPlaneAccess,
    settings: Omit<KubeadmSettings, "kubeconfig"> = {},
  ): Promise<ProxyFiles> {
    const files = new ProxyFiles(await Deno.makeTempDir({ prefix: "kpt-proxy-" }));
    await Deno.writeTextFile(files.kubeconfig, proxyKubeconfig(access), { mode: 0o600 });
    await files.write(settings);
    return files;
  }

  get kubeconfig(): string {
    return `${this.folder}/kubeconfig.conf`;
  }

  get config(): string {
    return `${this.folder}/config.conf`;
  }

  /** Writes the configuration in place. */
  async write(settings: Omit<KubeadmSettings, "kubeconfig">): Promise<void> {
    await Deno.writeTextFile(
      this.config,
      kubeadmConfiguration({ ...settings, kubeconfig: this.kubeconfig }),
    );
  }

  /** What kubeadm's DaemonSet gives the program. */
  args(node: string): readonly string[] {
    return [`--config=${this.config}`, `--hostname-override=${node}`];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.folder, { recursive: true }).catch(() => {});
  }
}
