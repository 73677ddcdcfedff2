import { check } from "../check.ts";
import { fine, problem } from "../judging/findings.ts";
import { isBefore } from "../judging/versions.ts";
import { describeWorkload, imageVersion, workloadNamed } from "../judging/workloads.ts";

/** The first one that finds out by itself in which mode the proxy is. */
const detects = [3, 32];

/** Whether Calico writes its rules where the proxy does. */
export const calico = check({
  id: "CO06",
  group: "software",
  title: "calico",
  why:
    "Calico's iptables dataplane does not work beside a proxy in nftables mode: both must switch.",
  looks:
    "Reads linuxDataplane of the operator's Installation, nftablesMode of Felix, and the version.",
  links: [
    "https://docs.tigera.io/calico/latest/getting-started/kubernetes/nftables",
    "https://github.com/tigera/operator/pull/4389",
  ],
  results: ["pass", "fail"],
  needs: ["software"],
  judge: ({ facts: { software } }) => {
    const node = workloadNamed(software, /^calico-node$/);
    if (!software || !node) return [fine("Calico", "It is not here")];
    const dataplane = software.settings.get("calico.linuxDataplane");
    const mode = software.settings.get("calico.nftablesMode");
    const version = imageVersion(node, /calico|\/node:/);
    const evidence = [
      `linuxDataplane: ${dataplane ?? "not set"}, nftablesMode: ${mode ?? "not set"}`,
      `version: ${version?.join(".") ?? "not known"}`,
    ];
    const subject = describeWorkload(node);
    if (dataplane === "BPF") return [fine(subject, ...evidence)];
    const isNft = dataplane === "Nftables" || mode === "Enabled";
    const isAuto = mode === "Auto" || (dataplane === undefined && mode === undefined);
    const canDetect = version !== undefined && !isBefore(version, detects);
    if (isNft || (isAuto && canDetect)) return [fine(subject, ...evidence)];
    return [problem("fail", subject, {
      evidence,
      advice: [
        "Switch both together:",
        `kubectl patch installation default --type merge -p '{"spec":{"calicoNetwork":{"linuxDataplane":"Nftables"}}}'`,
      ],
    })];
  },
});
