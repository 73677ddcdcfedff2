import { check } from "../check.ts";
import { fine, problem, untold } from "../judging/findings.ts";

/** Whether this process sees and may change what a proxy would. */
export const rights = check({
  id: "NET05",
  group: "kernel",
  title: "rights",
  why: "All other answers are about the network in which this runs: it must be the node's.",
  looks: "Reads this process's capabilities, and compares its network namespace with that of the " +
    "node's first process.",
  links: ["https://kubernetes.io/docs/tasks/debug/debug-application/debug-running-pod/"],
  results: ["pass", "fail"],
  needs: ["rights"],
  judge: ({ facts: { rights } }) => {
    if (!rights) return [];
    const { hasNetAdmin, isInNodeNetwork } = rights;
    if (!hasNetAdmin) {
      return [problem("fail", "this process", {
        evidence: ["It lacks CAP_NET_ADMIN"],
        advice: ["Run it as root of the node, or give the container CAP_NET_ADMIN."],
      })];
    }
    if (isInNodeNetwork === undefined) {
      return [untold("this process", "The node's first process cannot be seen: set hostPID: true")];
    }
    if (isInNodeNetwork) return [fine("this process", "It is in the node's network")];
    return [problem("fail", "this process", {
      evidence: ["It is in another network namespace than the node's first process"],
      advice: ["Run it on the host network: hostNetwork: true."],
    })];
  },
});
