/**
 * The configuration as the rest of the program knows it: defaulted, validated, and free of versions,
 * flags and files. It has the shape of v1alpha2, because that version says what belongs together;
 * durations are numbers of milliseconds, and what can be unset is undefined.
 */
import { defaultSections, type ModeName, type ModeSections } from "../writers/registry.ts";

/** Empty means that nobody chose one; whoever runs the proxy decides. */
export type ProxyMode = "" | ModeName;

/** How traffic from this node's pods is recognised. Empty means that nobody chose one. */
export type DetectLocalMode =
  | ""
  | "BridgeInterface"
  | "ClusterCIDR"
  | "InterfaceNamePrefix"
  | "NodeCIDR";

/** Which address families the node is to be programmed for. */
export type IpFamilyPolicy = "SingleStack" | "PreferDualStack" | "RequireDualStack";

/** How to reach the apiserver. */
export interface ClientConnection {
  /** Path of a kubeconfig; empty means the service account of the pod. */
  readonly kubeconfig: string;
  readonly acceptContentTypes: string;
  readonly contentType: string;
  /** Requests per second; a negative number means no limit. */
  readonly qps: number;
  readonly burst: number;
}

/** Options of one log format. */
export interface LogFormatOptions {
  /** Informational messages go to stdout, errors to stderr. */
  readonly splitStream: boolean;
  /** A quantity as Kubernetes writes it, such as `4Ki`. */
  readonly infoBufferSize: string;
}

/** A file may give it as a number of nanoseconds instead of a duration; it is written back as it came. */
export interface FlushFrequency {
  readonly milliseconds: number;
  readonly asNumber: boolean;
}

export interface VerbosityPattern {
  readonly filePattern: string;
  readonly verbosity: number;
}

export interface Logging {
  readonly format: string;
  readonly flushFrequency: FlushFrequency;
  readonly verbosity: number;
  readonly vmodule: readonly VerbosityPattern[];
  readonly options: { readonly json: LogFormatOptions; readonly text: LogFormatOptions };
}

/** Zero timeouts and limits leave the kernel's as they are. */
export interface Conntrack {
  readonly maxPerCore: number;
  readonly min: number;
  readonly tcpEstablishedTimeoutMs: number;
  readonly tcpCloseWaitTimeoutMs: number;
  readonly tcpBeLiberal: boolean;
  readonly udpTimeoutMs: number;
  readonly udpStreamTimeoutMs: number;
}

export interface DetectLocal {
  readonly bridgeInterface: string;
  readonly interfaceNamePrefix: string;
  /** As written: validated when the mode is ClusterCIDR, anything otherwise. */
  readonly clusterCIDRs: readonly string[];
}

export interface ProxyConfiguration extends ModeSections {
  readonly featureGates: Readonly<Record<string, boolean>>;
  readonly clientConnection: ClientConnection;
  readonly logging: Logging;
  /** As written; whoever uses it trims and lowers it. Empty means the host's name. */
  readonly hostnameOverride: string;
  /**
   * Addresses of this node, at most one of each family. Each replaces the detected address of its
   * family, and the first names the primary family.
   */
  readonly nodeIPOverride: readonly string[];
  /** `0.0.0.0` or `::`, as v1alpha1 said it. Changes nothing but what is written as v1alpha1. */
  readonly unspecifiedBindAddress: string;
  readonly ipFamilyPolicy: IpFamilyPolicy;
  /** IP:port; empty (which only a deprecated flag can ask for) means no server. */
  readonly healthzBindAddress: string;
  readonly metricsBindAddress: string;
  readonly bindAddressHardFail: boolean;
  /** False: fields that cannot be understood are warnings. */
  readonly configHardFail: boolean;
  readonly enableProfiling: boolean;
  readonly showHiddenMetricsForVersion: string;
  readonly mode: ProxyMode;
  readonly syncPeriodMs: number;
  /** Undefined is unset: each mode has its own idea of how long to gather changes. */
  readonly minSyncPeriodMs: number | undefined;
  readonly configSyncPeriodMs: number;
  readonly detectLocalMode: DetectLocalMode;
  readonly detectLocal: DetectLocal;
  /** CIDRs and the keywords `primary`, `localhost` and `all`; empty means the mode's own default. */
  readonly nodePortAddresses: readonly string[];
  readonly linux: {
    readonly conntrack: Conntrack;
    readonly masqueradeAll: boolean;
    readonly oomScoreAdj: number;
  };
  readonly windows: { readonly runAsService: boolean };
}

/**
 * What v1alpha1 gives when nothing is said: the state that command-line flags start from. Each call
 * makes a new object, of which no two parts are one.
 */
export function internalDefaults(): ProxyConfiguration {
  return {
    featureGates: {},
    clientConnection: {
      kubeconfig: "",
      acceptContentTypes: "",
      contentType: "application/vnd.kubernetes.protobuf",
      qps: 5,
      burst: 10,
    },
    logging: defaultLogging(),
    hostnameOverride: "",
    nodeIPOverride: [],
    unspecifiedBindAddress: "0.0.0.0",
    ipFamilyPolicy: "PreferDualStack",
    healthzBindAddress: "0.0.0.0:10256",
    metricsBindAddress: "127.0.0.1:10249",
    bindAddressHardFail: false,
    configHardFail: false,
    enableProfiling: false,
    showHiddenMetricsForVersion: "",
    mode: "",
    ...defaultSections(),
    syncPeriodMs: 30_000,
    minSyncPeriodMs: undefined,
    configSyncPeriodMs: 900_000,
    detectLocalMode: "",
    detectLocal: { bridgeInterface: "", interfaceNamePrefix: "", clusterCIDRs: [] },
    nodePortAddresses: [],
    linux: { conntrack: defaultConntrack(), masqueradeAll: false, oomScoreAdj: -999 },
    windows: { runAsService: false },
  };
}

function defaultLogging(): Logging {
  return {
    format: "text",
    flushFrequency: { milliseconds: 5_000, asNumber: false },
    verbosity: 0,
    vmodule: [],
    options: {
      json: { splitStream: false, infoBufferSize: "0" },
      text: { splitStream: false, infoBufferSize: "0" },
    },
  };
}

function defaultConntrack(): Conntrack {
  return {
    maxPerCore: 32_768,
    min: 131_072,
    tcpEstablishedTimeoutMs: 86_400_000,
    tcpCloseWaitTimeoutMs: 3_600_000,
    tcpBeLiberal: false,
    udpTimeoutMs: 0,
    udpStreamTimeoutMs: 0,
  };
}
