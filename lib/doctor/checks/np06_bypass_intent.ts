import { check } from "../check.ts";
import { few, fine, problem } from "../judging/findings.ts";
import { nodePortsOf } from "../judging/frontends.ts";
import { describeFate, outsideFates } from "../judging/outside_fates.ts";
import { allRules, looksAtPorts } from "../judging/rule_use.ts";

/** Rules by which somebody wants to keep clients from a NodePort. */
export const bypassIntent = check({
  id: "NP06",
  group: "nodeports",
  title: "bypass-intent",
  why:
    "A NodePort is translated before hook input: rules there that block it do not block what goes " +
    "on to a pod.",
  looks: "Walks a new packet for each NodePort through hook input, and looks for rules that name " +
    "ports and stop it.",
  links: ["https://github.com/siderolabs/talos/issues/10437"],
  results: ["pass", "warn"],
  needs: ["firewall", "network", "objects"],
  judge: ({ facts: { firewall, network, objects } }) => {
    if (!firewall || !network || !objects) return [];
    const ports = nodePortsOf(objects);
    const byPort = new Set(
      allRules(firewall).filter(({ rule }) => looksAtPorts(rule)).map(({ place }) => place),
    );
    const blocked = outsideFates({ firewall, network, objects, ports }).filter(({ fate, from }) =>
      from === "far" && fate.kind === "stopped" && byPort.has(fate.by)
    );
    if (blocked.length === 0) return [fine("hook input", "No rule there blocks a NodePort")];
    return [problem("warn", "hook input", {
      evidence: few(blocked.map(describeFate)),
      advice: [
        "Block it before it is translated: a chain on hook prerouting with a priority below -101.",
        "Or name the clients in spec.loadBalancerSourceRanges, or in a NetworkPolicy.",
      ],
    })];
  },
});
