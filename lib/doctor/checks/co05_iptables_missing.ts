import { check } from "../check.ts";
import type { FactValues } from "../facts/fact_values.ts";
import { fine, problem } from "../judging/findings.ts";

type Plugin = FactValues["cni"][number]["plugins"][number];

/** Software of the host that calls iptables where there is none. */
export const iptablesMissing = check({
  id: "CO05",
  group: "software",
  title: "iptables-missing",
  why: "Distributions leave iptables out by now; a CNI plugin that calls it fails at the next pod.",
  looks: "Looks for iptables on the host, and for plugins in the CNI's configuration that call it.",
  links: ["https://www.cni.dev/plugins/current/meta/portmap/"],
  results: ["pass", "fail"],
  needs: ["iptablesTool", "cni"],
  judge: ({ facts: { cni = [], iptablesTool } }) => {
    if (iptablesTool !== undefined) return [fine(iptablesTool, "It is there")];
    const users = cni.flatMap(({ path, plugins }) =>
      plugins.filter(callsIptables).map(({ type }) => `${path}: plugin ${type}`)
    );
    if (users.length === 0) return [fine("iptables", "The host has none, and nothing calls it")];
    return [problem("fail", "iptables", {
      evidence: ["The host has none", ...users],
      advice: [`Set "backend": "nftables" (portmap), "ipMasqBackend": "nftables" (bridge).`],
    })];
  },
});

function callsIptables({ backend, ipMasq, ipMasqBackend, type }: Plugin): boolean {
  if (type === "portmap") return backend !== "nftables";
  if (type === "firewall") return backend === undefined || backend === "iptables";
  return (type === "bridge" || type === "ptp") && ipMasq === true && ipMasqBackend !== "nftables";
}
