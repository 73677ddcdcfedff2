import { check } from "../check.ts";
import { Setting } from "../judging/setting_names.ts";
import { fine, problem } from "../judging/findings.ts";

/** What stock kube-proxy sets at most since 1.36. */
const CAP = 1_048_576;

/** Whether the limit of conntrack is more than stock kube-proxy keeps. */
export const conntrackSize = check({
  id: "CT03",
  group: "kernel",
  title: "conntrack-size",
  why: "Since 1.36 the limit that a proxy computes from the number of processors is capped.",
  looks: "Compares nf_conntrack_max with 1048576.",
  links: ["https://github.com/kubernetes/kubernetes/pull/137002"],
  results: ["pass", "warn"],
  needs: ["settings"],
  judge: ({ facts: { settings } }) => {
    const max = Number(settings?.get(Setting.conntrackMax) ?? 0);
    if (max <= CAP) return [fine("conntrack", `nf_conntrack_max is ${max}`)];
    return [problem("warn", "conntrack", {
      evidence: [`nf_conntrack_max is ${max}, more than the ${CAP} that a proxy sets by itself`],
      advice: [
        `Set conntrack.maxPerCore: 0, so that the limit stays as it is, where ${max} is meant.`,
      ],
    })];
  },
});
