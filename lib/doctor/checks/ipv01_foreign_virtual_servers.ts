import { check } from "../check.ts";
import { few, fine, problem } from "../judging/findings.ts";
import { foreignServers } from "../judging/virtual_servers.ts";

/** Virtual servers of IPVS that are no Service's. */
export const foreignVirtualServers = check({
  id: "IPV01",
  group: "ipvs",
  title: "foreign-virtual-servers",
  why:
    "Stock kube-proxy flushes all of IPVS when it cleans up, servers of other software included.",
  looks: "Compares the virtual servers with the addresses and node ports of all Services.",
  links: ["https://github.com/kubernetes/kubernetes/issues/55857"],
  results: ["pass", "warn", "fail"],
  needs: ["ipvs", "objects", "network"],
  judge: ({ facts: { ipvs, network, objects }, move: { toProxy } }) => {
    if (!ipvs || !objects || !network) return [fine("IPVS", "It is not loaded")];
    const foreign = foreignServers(ipvs, { objects, network });
    const marked = ipvs.markServers > 0 ? [`${ipvs.markServers} servers by firewall mark`] : [];
    const evidence = [...few(foreign), ...marked];
    if (evidence.length === 0) return [fine("IPVS", "Every virtual server is a Service's")];
    return toProxy === "upstream"
      ? [problem("fail", "IPVS", {
        evidence,
        advice: [
          "Do not run the clean-up of stock kube-proxy: it flushes these too.",
          "kube-proxy cleanup --mode ipvs",
        ],
      })]
      : [problem("warn", "IPVS", {
        evidence,
        advice: ["Nothing to do: this program leaves them, and so does its cleanup."],
      })];
  },
});
