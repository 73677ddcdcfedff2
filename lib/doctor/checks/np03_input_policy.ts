import { check } from "../check.ts";
import { few, fine, problem, untold } from "../judging/findings.ts";
import { nodePortsOf } from "../judging/frontends.ts";
import {
  describeFate,
  describeOpen,
  openingCommands,
  outsideFates,
  summaryOf,
} from "../judging/outside_fates.ts";

const range = "30000-32767";

/** Whether the host's own rules let connections to NodePorts in. */
export const inputPolicy = check({
  id: "NP03",
  group: "nodeports",
  title: "input-policy",
  why:
    "Iptables mode opens NodePorts in the host's packet filter, ipvs mode in part; nftables mode " +
    "opens nothing.",
  looks:
    "Walks a new packet for each NodePort through every chain on hook input, of nf_tables and " +
    "of the older tables, without the chains that go with the old mode.",
  links: ["https://kubernetes.io/docs/reference/networking/virtual-ips/"],
  results: ["pass", "warn", "fail"],
  needs: ["firewall", "network", "objects"],
  judge: ({ facts: { firewall, network, objects } }) => {
    if (!firewall || !network || !objects) return [];
    const ports = nodePortsOf(objects);
    if (ports.length === 0) return [fine("NodePorts", "No Service has one")];
    const fates = outsideFates({ firewall, network, objects, ports });
    if (fates.length === 0) return [untold("NodePorts", "The node's own address is not known")];
    const { onlyNear, stopped, untold: unclear } = summaryOf(fates);
    if (stopped.length > 0) {
      return [problem("fail", "hook input", {
        evidence: few(stopped.map(describeFate)),
        advice: openingCommands(stopped, range),
      })];
    }
    if (unclear.length > 0) return [untold("hook input", ...few(unclear.map(describeFate)))];
    if (onlyNear.length > 0) {
      return [problem("warn", "hook input", {
        evidence: [
          "Clients of the node's own network alone are let in",
          ...few(onlyNear.map(describeFate)),
        ],
        advice: openingCommands(onlyNear, range),
      })];
    }
    return [fine("hook input", describeOpen(fates, ports))];
  },
});
