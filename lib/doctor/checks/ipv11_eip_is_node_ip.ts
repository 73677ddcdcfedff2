import { canonicalIp } from "../../base/ip.ts";
import { check } from "../check.ts";
import { few, fine, problem } from "../judging/findings.ts";
import { withoutIpvs } from "../judging/frontends.ts";

/** Services with an address that is the node's own. */
export const eipIsNodeIp = check({
  id: "IPV11",
  group: "ipvs",
  title: "eip-is-node-ip",
  why:
    "An external address that is the node's own is a special case in each mode; externalIPs are " +
    "deprecated besides.",
  looks: "Compares externalIPs and addresses of load balancers with the node's addresses.",
  links: [
    "https://github.com/kubernetes/kubernetes/issues/75290",
    "https://github.com/kubernetes/enhancements/issues/5707",
  ],
  results: ["pass", "warn"],
  needs: ["objects", "network"],
  judge: ({ facts: { network, objects } }) => {
    if (!network || !objects) return [];
    const own = new Set([
      ...withoutIpvs(network).addresses.map(({ ip }) => ip),
      ...(objects.node?.addresses ?? []).flatMap(({ address }) => canonicalIp(address) ?? []),
    ]);
    const found = objects.services.flatMap(({ externalIPs, ingress, name, namespace }) =>
      [...externalIPs, ...ingress.map(({ ip }) => ip)].filter((ip) =>
        own.has(canonicalIp(ip) ?? ip)
      )
        .map((ip) => `${namespace}/${name} has ${ip}`)
    );
    if (found.length === 0) return [fine("Services", "None has an address of this node")];
    return [problem("warn", "Services", {
      evidence: few(found),
      advice: ["Use a Service of type LoadBalancer or NodePort for the node's own addresses."],
    })];
  },
});
