import { check } from "../check.ts";
import { fine, problem } from "../judging/findings.ts";
import { describeWorkload, workloadNamed } from "../judging/workloads.ts";

/** Whether flannel writes rules of nf_tables. */
export const flannel = check({
  id: "CO07",
  group: "software",
  title: "flannel",
  why: "Flannel masquerades by iptables unless it is told otherwise, which some hosts do not have.",
  looks: "Reads EnableNFTables of flannel's configuration, and looks for iptables on the host.",
  links: ["https://github.com/kubernetes-sigs/kubespray/pull/13291"],
  results: ["pass", "warn", "fail"],
  needs: ["software", "iptablesTool"],
  judge: ({ facts: { iptablesTool, software } }) => {
    const workload = workloadNamed(software, /flannel/);
    if (!workload) return [fine("flannel", "It is not here")];
    const subject = describeWorkload(workload);
    if (software?.settings.get("flannel.EnableNFTables") === "true") {
      return [fine(subject, "EnableNFTables is true")];
    }
    return [problem(iptablesTool === undefined ? "fail" : "warn", subject, {
      evidence: [
        "EnableNFTables is not true",
        ...(iptablesTool === undefined ? ["The host has no iptables"] : []),
      ],
      advice: [`Set "EnableNFTables": true in net-conf.json of configmap kube-flannel-cfg.`],
    })];
  },
});
