import { check } from "../check.ts";
import { few, fine, problem, untold } from "../judging/findings.ts";
import { healthPortsOf } from "../judging/frontends.ts";
import {
  describeFate,
  openingCommands,
  outsideFates,
  summaryOf,
} from "../judging/outside_fates.ts";

const usualHealthPort = 10_256;

/** Whether load balancers reach the ports at which they ask for health. */
export const healthCheckNodePort = check({
  id: "NP04",
  group: "nodeports",
  title: "hc-nodeport",
  why:
    "Iptables and ipvs mode accept connections to healthCheckNodePorts; nftables mode leaves that " +
    "to you, and a load balancer that gets no answer takes the node out.",
  looks: "Walks a new packet for each healthCheckNodePort, and for the proxy's own health port, " +
    "through every chain on hook input.",
  links: [
    "https://github.com/kubernetes/enhancements/issues/3866",
    "https://github.com/gardener/gardener/pull/4599",
  ],
  results: ["pass", "warn", "fail"],
  needs: ["firewall", "network", "objects"],
  wants: ["configuration"],
  judge: ({ facts: { firewall, network, objects }, tried: { configuration } }) => {
    if (!firewall || !network || !objects) return [];
    const bound = configuration.kind === "value"
      ? configuration.value.configuration?.healthzBindAddress
      : undefined;
    const own = Number(bound?.slice(bound.lastIndexOf(":") + 1) ?? usualHealthPort);
    const ports = [
      ...healthPortsOf(objects),
      ...(own > 0
        ? [{ port: own, protocol: "tcp" as const, service: "the proxy's /healthz" }]
        : []),
    ];
    const fates = outsideFates({ firewall, network, objects, ports });
    if (fates.length === 0) return [untold("health ports", "The node's own address is not known")];
    const { onlyNear, stopped, untold: unclear } = summaryOf(fates);
    const open = (each: typeof stopped) =>
      each.flatMap((fate) => openingCommands([fate], String(fate.port.port)));
    if (stopped.length > 0) {
      return [problem("fail", "hook input", {
        evidence: few(stopped.map(describeFate)),
        advice: [...new Set(open(stopped))],
      })];
    }
    if (unclear.length > 0) return [untold("hook input", ...few(unclear.map(describeFate)))];
    if (onlyNear.length > 0) {
      return [problem("warn", "hook input", {
        evidence: ["The node's own network alone is let in", ...few(onlyNear.map(describeFate))],
        advice: [...new Set(open(onlyNear))],
      })];
    }
    return [fine("hook input", `${ports.map(({ port }) => port).join(", ")} are let in`)];
  },
});
