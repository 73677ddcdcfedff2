import { check } from "../check.ts";
import { fine, problem } from "../judging/findings.ts";

/** Ranges that the configuration leaves to somebody else. */
export const excludedCidrs = check({
  id: "IPV04",
  group: "ipvs",
  title: "excluded-cidrs",
  why: "Somebody else has virtual servers there, and stock kube-proxy's clean-up flushes them too.",
  looks: "Reads ipvs.excludeCIDRs of the configuration.",
  links: ["https://github.com/kubernetes/kubernetes/issues/55857"],
  results: ["pass", "warn"],
  needs: ["configuration"],
  judge: ({ facts: { configuration } }) => {
    const ranges = configuration?.configuration?.ipvs.excludeCIDRs ?? [];
    if (ranges.length === 0) return [fine("ipvs.excludeCIDRs", "It is empty")];
    return [problem("warn", "ipvs.excludeCIDRs", {
      evidence: [ranges.join(", ")],
      advice: [
        "Give the configuration to the cleanup, which spares them then:",
        `kube-proxy cleanup --mode ipvs --config ${configuration?.where ?? ""}`,
      ],
    })];
  },
});
