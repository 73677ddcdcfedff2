/** Flags that set no field of the configuration: upstream's, and this program's own. */
import { root, type RunFlag, runFlag, within } from "./flags_define.ts";
import * as places from "./flags_places.ts";
import * as values from "../base/flag_values.ts";

/** In which of iptables' backends the rules are. */
const iptablesBackends = ["auto", "legacy", "nft"] as const;

/** The versions that a configuration can be written as. */
export const configVersions = ["v1alpha1", "v1alpha2"] as const;

export const configFlag = runFlag({
  name: "config",
  type: values.repeatedPath,
  scope: "always",
  group: "Configuration",
  summary: "a configuration file, or a directory of them; may be given several times",
  fallback: [],
});

export const writeConfigToFlag = runFlag({
  name: "write-config-to",
  type: values.path,
  scope: "always",
  group: "Configuration",
  summary: "write the whole configuration to this file and exit",
  fallback: "",
});

export const writeConfigVersionFlag = runFlag<typeof configVersions[number]>({
  name: "write-config-version",
  type: values.oneOf("version", configVersions),
  scope: "own",
  group: "Configuration",
  summary: "the version that --write-config-to writes",
  fallback: "v1alpha2",
});

export const hostnameOverrideFlag = runFlag({
  name: "hostname-override",
  type: values.string,
  scope: "always",
  group: "Node and traffic",
  summary: "the name of this Node, where it is not the host's",
  fallback: "",
  place: places.hostnameOverride,
});

export const masterFlag = runFlag({
  name: "master",
  type: values.string,
  typeName: "url",
  scope: "always",
  group: "API client",
  summary: "the apiserver's address, whatever the kubeconfig says",
  fallback: "",
});

export const cleanupFlag = runFlag({
  name: "cleanup",
  type: values.boolean,
  scope: "always",
  group: "Sources and effects",
  summary: "remove the rules of every mode and exit",
  fallback: false,
});

export const initOnlyFlag = runFlag({
  name: "init-only",
  type: values.boolean,
  scope: "always",
  group: "Sources and effects",
  summary: "do what needs full root, then exit; afterwards CAP_NET_ADMIN is enough",
  fallback: false,
});

export const manifestsFlag = runFlag({
  name: "manifests",
  type: values.repeatedPath,
  typeName: "path",
  scope: "own",
  group: "Sources and effects",
  summary:
    "take Services and their endpoints from this file, directory or - instead of an apiserver; may be given several times",
  fallback: [],
});

export const onceFlag = runFlag({
  name: "once",
  type: values.boolean,
  scope: "own",
  group: "Sources and effects",
  summary: "program the node once and exit",
  fallback: false,
});

export const dryRunFlag = runFlag({
  name: "dry-run",
  type: values.boolean,
  scope: "own",
  group: "Sources and effects",
  summary: "print the rules and leave the kernel alone",
  fallback: false,
});

export const namespaceOptOutFlag = runFlag({
  name: "namespace-opt-out",
  type: values.boolean,
  scope: "own",
  group: "Sources and effects",
  summary: "leave out namespaces labelled networking.k8s.io/kube-proxy=disabled",
  fallback: true,
});

export const namespaceOptOutDelayFlag = runFlag({
  name: "namespace-opt-out-delay",
  type: values.duration,
  scope: "own",
  group: "Sources and effects",
  summary: "how long to gather changes of namespaces' labels before acting on them",
  fallback: 1_000,
});

export const iptablesBackendFlag = runFlag({
  name: "iptables-backend",
  type: values.oneOf("backend", iptablesBackends),
  scope: "own",
  group: "iptables",
  summary: "which of iptables' backends holds the rules",
  fallback: "auto",
  place: within(within(root, "iptables"), "backend"),
});

export const healthzPortFlag = runFlag({
  name: "healthz-port",
  type: values.int32,
  group: "Servers",
  summary: "the port of /healthz where --healthz-bind-address has none; 0 for no server",
  fallback: 10_256,
  deprecated: "it will be removed in a future release; use --healthz-bind-address instead",
});

export const metricsPortFlag = runFlag({
  name: "metrics-port",
  type: values.int32,
  group: "Servers",
  summary: "the port of /metrics where --metrics-bind-address has none; 0 for no server",
  fallback: 10_249,
  deprecated: "it will be removed in a future release; use --metrics-bind-address instead",
});

export const helpFlag = runFlag({
  name: "help",
  shorthand: "h",
  type: values.boolean,
  scope: "always",
  group: "General",
  summary: "show this help",
  fallback: false,
});

export const versionFlag = runFlag({
  name: "version",
  type: values.version,
  scope: "always",
  group: "General",
  summary: "print the version and exit; raw prints its parts, v1.37.0-suffix sets what is reported",
  fallback: "false",
});

export const programFlags: readonly RunFlag[] = [
  configFlag,
  writeConfigToFlag,
  writeConfigVersionFlag,
  hostnameOverrideFlag,
  masterFlag,
  cleanupFlag,
  initOnlyFlag,
  manifestsFlag,
  onceFlag,
  dryRunFlag,
  namespaceOptOutFlag,
  namespaceOptOutDelayFlag,
  iptablesBackendFlag,
  healthzPortFlag,
  metricsPortFlag,
  helpFlag,
  versionFlag,
];
