/**
 * Upstream's flags that set the configuration of the node and its traffic, the servers and the
 * client. Those of single modes, of logging, and those that set no field, have tables of their own.
 */
import { linuxModes } from "../writers/registry.ts";
import { knownGates } from "./feature_gates.ts";
import type { TypedFlag } from "../base/flags.ts";
import {
  type Field,
  root,
  type RunFlag,
  runFlag,
  type RunFlagOptions,
  within,
} from "./flags_define.ts";
import * as places from "./flags_places.ts";
import * as values from "../base/flag_values.ts";
import { internalDefaults } from "./internal.ts";

/** Defines a flag whose default is that of its field. */
export function fieldFlag<T>(
  place: Field<T>,
  options: Omit<RunFlagOptions<T>, "place" | "fallback">,
): RunFlag & TypedFlag<T> {
  return runFlag({ ...options, place, fallback: place.read(internalDefaults()) });
}

const client = within(root, "clientConnection");
const detectLocal = within(root, "detectLocal");
const linux = within(root, "linux");

/** What the node is and which traffic is what. */
export const nodeFlags: readonly RunFlag[] = [
  fieldFlag(places.mode, {
    name: "proxy-mode",
    type: values.string,
    typeName: "mode",
    group: "Node and traffic",
    summary:
      "how the kernel is programmed: iptables (default), ipvs (deprecated) or nftables (default with --manifests)",
    completion: { kind: "words", words: linuxModes },
  }),
  fieldFlag(places.bindAddress, {
    name: "bind-address",
    type: values.address,
    group: "Node and traffic",
    summary: "this node's primary address, where it should not be detected; nothing listens on it",
  }),
  fieldFlag(places.detectLocalMode, {
    name: "detect-local-mode",
    type: values.string,
    typeName: "mode",
    group: "Node and traffic",
    summary: "how traffic of this node's pods is recognised (default ClusterCIDR)",
    completion: {
      kind: "words",
      words: ["BridgeInterface", "ClusterCIDR", "InterfaceNamePrefix", "NodeCIDR"],
    },
  }),
  runFlag({
    name: "cluster-cidr",
    type: values.string,
    group: "Node and traffic",
    summary: "the range of the cluster's pods, or one of each family separated by a comma",
    fallback: "",
    place: places.clusterCidrs,
  }),
  fieldFlag(within(detectLocal, "bridgeInterface"), {
    name: "pod-bridge-interface",
    type: values.string,
    group: "Node and traffic",
    summary: "the bridge of this node's pods, for --detect-local-mode=BridgeInterface",
  }),
  fieldFlag(within(detectLocal, "interfaceNamePrefix"), {
    name: "pod-interface-name-prefix",
    type: values.string,
    group: "Node and traffic",
    summary: "how the names of pod interfaces begin, for --detect-local-mode=InterfaceNamePrefix",
  }),
  fieldFlag(within(root, "nodePortAddresses"), {
    name: "nodeport-addresses",
    type: values.stringList,
    group: "Node and traffic",
    summary: "where node ports answer: CIDRs and the keywords primary, localhost and all",
    completion: { kind: "words", words: ["all", "localhost", "primary"] },
  }),
  fieldFlag(within(linux, "masqueradeAll"), {
    name: "masquerade-all",
    type: values.boolean,
    group: "Node and traffic",
    summary: "masquerade everything that is sent to a ClusterIP",
  }),
];

/** What the node tells others, and what it is to the kernel. */
export const serverFlags: readonly RunFlag[] = [
  fieldFlag(within(root, "healthzBindAddress"), {
    name: "healthz-bind-address",
    type: values.addressAndPort,
    group: "Servers",
    summary: "where /healthz and /livez answer",
  }),
  fieldFlag(within(root, "metricsBindAddress"), {
    name: "metrics-bind-address",
    type: values.addressAndPort,
    group: "Servers",
    summary: "where /metrics, /configz and the other pages answer",
  }),
  fieldFlag(within(root, "bindAddressHardFail"), {
    name: "bind-address-hard-fail",
    type: values.boolean,
    group: "Servers",
    summary: "exit when a port of these servers cannot be had, instead of trying again",
  }),
  fieldFlag(within(root, "enableProfiling"), {
    name: "profiling",
    type: values.boolean,
    group: "Servers",
    summary: "serve /debug/pprof",
  }),
  fieldFlag(within(root, "showHiddenMetricsForVersion"), {
    name: "show-hidden-metrics-for-version",
    type: values.string,
    group: "Servers",
    summary: "show metrics that this minor version hid; only the previous one is allowed",
  }),
  fieldFlag(within(linux, "oomScoreAdj"), {
    name: "oom-score-adj",
    type: values.int32,
    group: "General",
    summary: "how unlikely the kernel is to kill this process: -1000 to 1000",
  }),
  fieldFlag(within(root, "featureGates"), {
    name: "feature-gates",
    type: values.booleanMap,
    group: "General",
    summary: "feature gates as Name=true or Name=false, separated by commas",
    completion: { kind: "words", words: knownGates.names().map((name) => `${name}=`) },
  }),
];

/** How the apiserver is asked. */
export const clientFlags: readonly RunFlag[] = [
  fieldFlag(within(client, "kubeconfig"), {
    name: "kubeconfig",
    type: values.path,
    group: "API client",
    summary: "how to reach the apiserver and as whom; without it, the pod's service account",
  }),
  fieldFlag(within(client, "contentType"), {
    name: "kube-api-content-type",
    type: values.string,
    group: "API client",
    summary: "content type of requests to the apiserver",
    completion: {
      kind: "words",
      words: ["application/json", "application/vnd.kubernetes.protobuf"],
    },
  }),
  fieldFlag(within(client, "qps"), {
    name: "kube-api-qps",
    type: values.float32,
    group: "API client",
    summary: "requests to the apiserver per second; negative means no limit",
  }),
  fieldFlag(within(client, "burst"), {
    name: "kube-api-burst",
    type: values.int32,
    group: "API client",
    summary: "requests to the apiserver that may exceed the rate at once",
  }),
  fieldFlag(within(root, "configSyncPeriodMs"), {
    name: "config-sync-period",
    type: values.duration,
    group: "API client",
    summary: "how often to check again all that the apiserver sent",
  }),
];
