import { check } from "../check.ts";
import { counted, fine, problem } from "../judging/findings.ts";

/** When the default changes, and when ipvs mode is gone. */
const newDefault = 40;
const withoutIpvs = 43;

/** How many releases are left. */
export const timeline = check({
  id: "CFG06",
  group: "cluster",
  title: "timeline",
  why: "Ipvs mode is off by default from 1.40 on, and gone in 1.43.",
  looks: "Asks the apiserver for its version.",
  links: ["https://github.com/kubernetes/enhancements/issues/5495"],
  results: ["pass", "warn", "fail"],
  needs: ["clusterVersion"],
  judge: ({ facts: { clusterVersion }, move: { from } }) => {
    if (!clusterVersion) return [];
    const { major, minor } = clusterVersion;
    const subject = `cluster ${major}.${minor}`;
    if (from !== "ipvs") {
      return [
        fine(
          subject,
          minor < newDefault
            ? `The default mode changes to nftables in 1.${newDefault}, ${
              counted(newDefault - minor, "minor")
            } from now`
            : "Nftables is the default mode",
        ),
      ];
    }
    const left = withoutIpvs - minor;
    if (left <= 0) {
      return [problem("fail", subject, {
        evidence: ["Kubernetes has no ipvs mode any more since 1.43"],
        advice: ["mode: nftables"],
      })];
    }
    const told = `${counted(left, "minor")} left until ipvs mode is gone`;
    if (minor < newDefault) return [fine(subject, told)];
    return [problem("warn", subject, {
      evidence: ["Ipvs mode is off unless gate KubeProxyIPVS is set", told],
      advice: ["mode: nftables"],
    })];
  },
});
