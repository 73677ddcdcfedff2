import { check } from "../check.ts";
import { fine, problem, untold } from "../judging/findings.ts";
import { isBefore } from "../judging/versions.ts";
import { describeWorkload, imageVersion, workloadNamed } from "../judging/workloads.ts";

/** The first minor that has all of these repairs. */
const floor = [1, 36];

/** Whether stock kube-proxy has the repairs that nftables mode needs. */
export const versionFloor = check({
  id: "CFG08",
  group: "cluster",
  title: "version-floor",
  why:
    "Older releases lose connections in nftables mode, such as those of pods to a load balancer " +
    "with the policy Local.",
  looks: "Reads the version of the image of DaemonSet kube-proxy.",
  links: [
    "https://github.com/kubernetes/kubernetes/pull/133969",
    "https://github.com/kubernetes/kubernetes/pull/134024",
    "https://github.com/kubernetes/kubernetes/pull/137501",
  ],
  where: { toProxy: "upstream" },
  results: ["pass", "warn"],
  needs: ["software"],
  judge: ({ facts: { software } }) => {
    const workload = workloadNamed(software, /^kube-proxy/);
    if (!workload) return [fine("kube-proxy", "No DaemonSet of that name")];
    const subject = describeWorkload(workload);
    const version = imageVersion(workload, /kube-proxy/);
    if (!version) return [untold(subject, "Its image does not tell its version")];
    if (!isBefore(version, floor)) return [fine(subject, `Version ${version.join(".")}`)];
    return [problem("warn", subject, {
      evidence: [
        `Version ${version.join(".")}: 1.36 has all repairs, patch releases before it some`,
      ],
      advice: ["Upgrade it to the latest patch release of its minor, or to 1.36."],
    })];
  },
});
