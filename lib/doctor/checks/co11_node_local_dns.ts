import { check } from "../check.ts";
import { fine, problem } from "../judging/findings.ts";
import { describeWorkload, workloadNamed } from "../judging/workloads.ts";

/** The cache of names that runs on each node. */
export const nodeLocalDns = check({
  id: "CO11",
  group: "software",
  title: "node-local-dns",
  why:
    "It takes over the cluster's DNS address by rules of iptables; nobody has written down how it " +
    "goes with nftables mode.",
  looks: "Looks for DaemonSet node-local-dns, and for the addresses in its arguments.",
  links: ["https://github.com/kubernetes/dns/issues/682"],
  results: ["pass", "warn"],
  needs: ["software"],
  judge: ({ facts: { software }, move: { from } }) => {
    const workload = workloadNamed(software, /node-?local-?dns/);
    if (!workload) return [fine("node-local-dns", "It is not here")];
    const at = workload.words.indexOf("-localip");
    const addresses = at < 0 ? "not told" : workload.words[at + 1];
    return [problem("warn", describeWorkload(workload), {
      evidence: [
        `It listens on ${addresses}`,
        from === "ipvs"
          ? "In ipvs mode it listens on a link-local address alone, which goes on working"
          : "In iptables mode it takes over the address of the cluster's DNS",
      ],
      advice: ["Ask for a name from a pod of each node after the move."],
    })];
  },
});
