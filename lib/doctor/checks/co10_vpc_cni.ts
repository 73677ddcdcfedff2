import { check } from "../check.ts";
import { fine, problem, untold } from "../judging/findings.ts";
import { isBefore } from "../judging/versions.ts";
import { describeWorkload, imageVersion, workloadNamed } from "../judging/workloads.ts";

/** Whether Amazon's CNI is new enough. */
export const vpcCni = check({
  id: "CO10",
  group: "software",
  title: "vpc-cni",
  why:
    "Before 1.13.1 it came with an iptables of its own, which did not see the rules of the host's.",
  looks: "Reads the version of the image of DaemonSet aws-node.",
  links: ["https://github.com/aws/amazon-vpc-cni-k8s/issues/3226"],
  results: ["pass", "warn"],
  needs: ["software"],
  judge: ({ facts: { software } }) => {
    const workload = workloadNamed(software, /^aws-node$/);
    if (!workload) return [fine("Amazon VPC CNI", "It is not here")];
    const subject = describeWorkload(workload);
    const version = imageVersion(workload, /amazon-k8s-cni[:@]/);
    if (!version) return [untold(subject, "Its image does not tell its version")];
    if (!isBefore(version, [1, 13, 1])) return [fine(subject, `Version ${version.join(".")}`)];
    return [problem("warn", subject, {
      evidence: [`Version ${version.join(".")} is older than 1.13.1`],
      advice: ["Upgrade it to 1.13.1 or later before the move."],
    })];
  },
});
