/**
 * Every field of v1alpha2, in the order in which a file is written. The type of the table comes from
 * the internal configuration, so a setting without a field here does not compile; v1alpha1 is told
 * by what it calls differently (`../v1alpha1/fields.ts`).
 */
import * as z from "zod";
import {
  choice,
  duration,
  field,
  type FieldsOf,
  flag,
  int32,
  notNegative,
  optionalDuration,
  positive,
  range,
  section,
  text,
  textList,
} from "../../base/fields.ts";
import { modeConfigs, type ModeSections, modeSections } from "../../writers/registry.ts";
import { bindAddress, eachNodeIp, eachNodePortAddress, proxyMode } from "../rules.ts";
import type {
  ClientConnection,
  Conntrack,
  DetectLocal,
  DetectLocalMode,
  IpFamilyPolicy,
  ProxyConfiguration,
} from "../internal.ts";
import { loggingFields } from "./logging.ts";

const leftAlone = "0s leaves the kernel's value.";
const detectLocalModes: readonly DetectLocalMode[] = [
  "ClusterCIDR",
  "NodeCIDR",
  "BridgeInterface",
  "InterfaceNamePrefix",
  "",
];

/** The section `clientConnection`: the same in both versions. */
const clientConnection: FieldsOf<ClientConnection> = {
  kubeconfig: text({
    default: "",
    doc: "Path of a kubeconfig file; empty means the service account of the pod.",
  }),
  acceptContentTypes: text({
    default: "",
    doc: "Content types to accept; empty means contentType.",
  }),
  contentType: text({
    default: "application/vnd.kubernetes.protobuf",
    doc: "How objects are encoded on the way from the apiserver.",
    zeroIsUnset: true,
  }),
  qps: field(z.float32(), "a number", {
    default: 5,
    doc: "Requests a second; a negative number means no limit.",
    zeroIsUnset: true,
  }),
  burst: int32({
    default: 10,
    doc: "Requests that may be made at once before qps holds.",
    rules: [notNegative],
    upstream: "ClientConnection.Burst",
    zeroIsUnset: true,
  }),
};

/** The section `linux.conntrack`. */
export const conntrack: FieldsOf<Conntrack> = {
  maxPerCore: int32({
    default: 32_768,
    doc: "Connections to track for each CPU core; 0 leaves the kernel's limit.",
    rules: [notNegative],
    upstream: "KubeProxyLinuxConfiguration.KubeProxyConntrackConfiguration.MaxPerCore",
  }),
  min: int32({
    default: 131_072,
    doc: "The least number of connections to track, whatever maxPerCore says.",
    rules: [notNegative],
    upstream: "KubeProxyLinuxConfiguration.KubeProxyConntrackConfiguration.Min",
  }),
  tcpEstablishedTimeout: duration({
    default: 86_400_000,
    doc: `How long an idle TCP connection is tracked. ${leftAlone}`,
    rules: [notNegative],
    upstream: "KubeProxyLinuxConfiguration.KubeProxyConntrackConfiguration.TCPEstablishedTimeout",
    refusesNull: false,
  }),
  tcpCloseWaitTimeout: duration({
    default: 3_600_000,
    doc: `How long a connection in CLOSE_WAIT is tracked. ${leftAlone}`,
    rules: [notNegative],
    upstream: "KubeProxyLinuxConfiguration.KubeProxyConntrackConfiguration.TCPCloseWaitTimeout",
    refusesNull: false,
  }),
  tcpBeLiberal: flag({
    default: false,
    doc: "Do not take packets outside the TCP window for invalid ones.",
  }),
  udpTimeout: duration({
    default: 0,
    doc: `How long an unanswered UDP flow is tracked. ${leftAlone}`,
    rules: [notNegative],
    upstream: "KubeProxyLinuxConfiguration.KubeProxyConntrackConfiguration.UDPTimeout",
  }),
  udpStreamTimeout: duration({
    default: 0,
    doc: `How long an answered UDP flow is tracked. ${leftAlone}`,
    rules: [notNegative],
    upstream: "KubeProxyLinuxConfiguration.KubeProxyConntrackConfiguration.UDPStreamTimeout",
  }),
};

/** The section `detectLocal`. */
export const detectLocal: FieldsOf<DetectLocal> = {
  bridgeInterface: text({
    default: "",
    doc: "With the mode BridgeInterface: traffic from this bridge is local.",
    upstream: "DetectLocalConfiguration.InterfaceName",
  }),
  interfaceNamePrefix: text({
    default: "",
    doc: "With the mode InterfaceNamePrefix: traffic from interfaces named so is local.",
    upstream: "DetectLocalConfiguration.InterfacePrefix",
  }),
  clusterCIDRs: textList({
    default: [],
    doc: "With the mode ClusterCIDR: traffic from these ranges, one a family, is local.",
    upstream: "DetectLocalConfiguration.ClusterCIDRs",
  }),
};

/** The section `linux`. */
export const linux = {
  conntrack: section("Connection tracking", conntrack),
  masqueradeAll: flag({
    default: false,
    doc: "Masquerade all traffic to cluster IPs, also that of pods.",
  }),
  oomScoreAdj: int32({
    default: -999,
    doc: "How readily the kernel ends this process when memory runs out, -1000 to 1000.",
    rules: [range(-1000, 1000)],
    upstream: "KubeProxyLinuxConfiguration.OOMScoreAdj",
  }),
};

/** The section `windows`. */
export const windows = {
  runAsService: flag({ default: false, doc: "Run as a Windows service." }),
};

const sectionsOfModes: FieldsOf<ModeSections> = Object.assign(
  {},
  ...modeSections.map((name) => {
    const { doc, fields } = modeConfigs[name];
    return { [name]: section(doc, fields) };
  }),
);

/** The modes of a platform as a sentence names them. */
function modesOf(platform: "linux" | "windows"): string {
  const names = modeSections.map((name) => modeConfigs[name])
    .filter((mode) => (mode.platform ?? "linux") === platform).map(({ mode }) => mode);
  return new Intl.ListFormat("en-GB", { type: "disjunction" }).format(names);
}

/** Null is false to upstream. */
const gates = z.codec(
  z.record(z.string(), z.boolean().nullable()),
  z.record(z.string(), z.boolean()).readonly(),
  {
    decode: (value) =>
      Object.fromEntries(Object.entries(value).map(([name, on]) => [name, on ?? false])),
    encode: (value) => ({ ...value }),
  },
);

/** All of them; `unspecifiedBindAddress` is v1alpha1's alone. */
export const v1alpha2Fields: FieldsOf<Omit<ProxyConfiguration, "unspecifiedBindAddress">> = {
  featureGates: field(
    gates,
    "a mapping of names to true or false",
    {
      default: {},
      doc: "Features to turn on or off, by the name of their gate.",
      upstream: "featureGates",
    },
  ),
  mode: choice<ProxyConfiguration["mode"]>(proxyMode.names, {
    default: "",
    doc: `How rules are programmed: ${modesOf("linux")}; ${modesOf("windows")} on Windows.`,
    rules: [],
    upstream: "Mode.ProxyMode",
  }),
  hostnameOverride: text({
    default: "",
    doc: "Name of the Node object of this node; empty means the host's name.",
  }),
  nodeIPOverride: textList({
    default: [],
    doc: "Addresses of this node, at most one a family, instead of those of its Node object.",
    rules: [eachNodeIp],
    upstream: "BindAddress",
  }),
  ipFamilyPolicy: choice<IpFamilyPolicy>(
    ["SingleStack", "PreferDualStack", "RequireDualStack"],
    { default: "PreferDualStack", doc: "For which address families the node is programmed." },
  ),
  healthzBindAddress: text({
    default: "0.0.0.0:10256",
    doc: "IP and port of the health server; empty means port 10256 on every address.",
    zeroIsUnset: true,
    rules: [bindAddress],
    upstream: "HealthzBindAddress",
  }),
  metricsBindAddress: text({
    default: "127.0.0.1:10249",
    doc: "IP and port of the metrics server; empty means port 10249 on the loopback address.",
    zeroIsUnset: true,
    rules: [bindAddress],
    upstream: "MetricsBindAddress",
  }),
  bindAddressHardFail: flag({
    default: true,
    doc: "Stop when an address cannot be listened on, instead of trying again.",
  }),
  configHardFail: flag({
    default: true,
    doc: "Refuse a file with unknown or duplicate fields, instead of warning.",
  }),
  enableProfiling: flag({ default: false, doc: "Serve profiles below /debug/pprof." }),
  showHiddenMetricsForVersion: text({
    default: "",
    doc: "Show metrics that were hidden since this release, the one before (major.minor).",
    upstream: "ShowHiddenMetricsForVersion",
  }),
  syncPeriod: duration({
    default: 30_000,
    doc: "How often everything is checked and a failed sync tried again.",
    rules: [positive],
    upstream: "SyncPeriod",
  }),
  minSyncPeriod: optionalDuration({
    doc: "The least time between two syncs; 0s means none, unset means the default of the mode.",
    rules: [notNegative],
    upstream: "MinSyncPeriod",
  }),
  configSyncPeriod: duration({
    default: 900_000,
    doc: "How often to check again all that the apiserver sent.",
    rules: [positive],
    upstream: "ConfigSyncPeriod",
  }),
  nodePortAddresses: textList({
    default: [],
    doc:
      "Where node ports answer: ranges, or primary, localhost, all; empty is the mode's default.",
    rules: [eachNodePortAddress],
    upstream: "NodePortAddresses",
  }),
  detectLocalMode: choice<DetectLocalMode>(detectLocalModes, {
    default: "",
    doc: "How traffic of this node's pods is recognised; empty means ClusterCIDR.",
    upstream: "DetectLocalMode",
  }),
  detectLocal: section("What the mode of detection needs to know", detectLocal),
  ...sectionsOfModes,
  linux: section("Settings of Linux", linux),
  windows: section("Settings of Windows", windows),
  clientConnection: section("How to reach the apiserver", clientConnection),
  logging: section("What is logged, and how", loggingFields),
};
