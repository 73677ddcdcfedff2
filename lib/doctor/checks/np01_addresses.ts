import { check } from "../check.ts";
import { counted, few, fine, problem } from "../judging/findings.ts";
import { nodePortsOf, primaryAddresses, withoutIpvs } from "../judging/frontends.ts";

/** On which addresses of the node a NodePort answers. */
export const nodePortAddresses = check({
  id: "NP01",
  group: "nodeports",
  title: "addresses",
  why:
    "Without nodePortAddresses, NodePorts answer on every address of the node in ipvs and iptables " +
    "mode, and on its primary addresses alone in nftables mode.",
  looks: "Reads the node's addresses, nodePortAddresses, and which Services have NodePorts.",
  links: ["https://kubernetes.io/docs/reference/networking/virtual-ips/"],
  where: { from: ["ipvs", "iptables"] },
  results: ["pass", "warn"],
  needs: ["objects", "network"],
  wants: ["configuration"],
  judge: ({ facts: { network, objects }, tried: { configuration } }) => {
    if (!network || !objects) return [];
    const configured = configuration.kind === "value"
      ? configuration.value.configuration?.nodePortAddresses ?? []
      : [];
    const subject = "nodePortAddresses";
    if (configured.length > 0) return [fine(subject, `It is ${configured.join(", ")}`)];
    const ports = nodePortsOf(objects);
    if (ports.length === 0) return [fine(subject, "No Service has a NodePort")];
    const primary = primaryAddresses(network, objects);
    const others = withoutIpvs(network).addresses
      .filter(({ ip, scope }) => scope === "global" && !primary.includes(ip));
    if (others.length === 0) return [fine(subject, `The node has ${primary.join(", ")} alone`)];
    return [problem("warn", subject, {
      evidence: [
        `${counted(ports.length, "NodePort")} will answer on ${primary.join(", ")} alone`,
        ...few(others.map(({ ip, linkName }) => `They stop answering on ${ip} (${linkName})`)),
      ],
      advice: [
        `Where clients use these: nodePortAddresses: ["0.0.0.0/0", "::/0"]`,
        `Where none does: nodePortAddresses: ["primary"]`,
      ],
    })];
  },
});
