/** What `doctor` takes. */
import { oneOf, path, repeatedPath, string, stringList } from "../../lib/base/flag_values.ts";
import { boolean } from "../../lib/base/flag_values.ts";
import { defineFlag, type FlagType } from "../../lib/base/flags.ts";
import { checks } from "../../lib/doctor/checks.ts";
import { fromModes } from "../../lib/doctor/modes.ts";
import { outputFlag } from "../global_flags.ts";

const ids = { kind: "words", words: checks.map(({ id }) => id) } as const;

/** An id each time, or several with commas. */
const idList: FlagType<readonly string[]> = { ...stringList, name: "ids", completion: ids };

export const fromFlag = defineFlag({
  name: "from",
  type: oneOf("mode", fromModes),
  summary: "the mode that the node comes from; what is found here when absent",
  fallback: "",
});

const toFlag = defineFlag({
  name: "to",
  type: oneOf("mode", ["nftables"]),
  summary: "the mode that it is to have",
  fallback: "nftables",
});

export const toProxyFlag = defineFlag({
  name: "to-proxy",
  type: oneOf("proxy", ["this", "upstream"]),
  summary: "which program will serve it: this one, or stock kube-proxy 1.37",
  fallback: "this",
});

export const onlyFlag = defineFlag({
  name: "only",
  type: idList,
  summary: "these checks alone, such as KRN03,NP01; docs/doctor.md lists them",
  fallback: [],
});

export const skipFlag = defineFlag({
  name: "skip",
  type: idList,
  summary: "all checks but these",
  fallback: [],
});

export const failOnFlag = defineFlag({
  name: "fail-on",
  type: oneOf("result", ["fail", "warn"]),
  summary: "exit with 1 for a warning too",
  fallback: "fail",
});

export const explainFlag = defineFlag({
  name: "explain",
  type: string,
  typeName: "id",
  completion: ids,
  summary: "say what a check is about instead of checking",
  fallback: "",
});

export const noClusterFlag = defineFlag({
  name: "no-cluster",
  type: boolean,
  summary: "ask no apiserver",
  fallback: false,
});

export const noProbeFlag = defineFlag({
  name: "no-probe",
  type: boolean,
  summary: "only read: try nothing in the kernel, so that it loads no module",
  fallback: false,
});

export const kubeconfigFlag = defineFlag({
  name: "kubeconfig",
  type: path,
  summary:
    "kubeconfig of the cluster; without it that of --config, $KUBECONFIG, or the pod's account",
  fallback: "",
});

export const configFlag = defineFlag({
  name: "config",
  type: repeatedPath,
  summary: "the configuration of this node's proxy; repeated for several files",
  fallback: [],
});

export const manifestsFlag = defineFlag({
  name: "manifests",
  type: repeatedPath,
  summary: "take Services, EndpointSlices and the Node from these files instead of an apiserver",
  fallback: [],
});

export const nodeFlag = defineFlag({
  name: "node",
  type: string,
  typeName: "name",
  summary: "this node's name in the cluster; the host's name when absent",
  fallback: "",
});

export const hostRootFlag = defineFlag({
  name: "host-root",
  type: path,
  typeName: "directory",
  summary: "read the /proc, /sys, /etc and /lib/modules below it: in a debug pod /host",
  fallback: "",
});

/** All of them. */
export const doctorFlags = [
  configFlag,
  explainFlag,
  failOnFlag,
  fromFlag,
  hostRootFlag,
  kubeconfigFlag,
  manifestsFlag,
  noClusterFlag,
  noProbeFlag,
  nodeFlag,
  onlyFlag,
  outputFlag,
  skipFlag,
  toFlag,
  toProxyFlag,
] as const;
