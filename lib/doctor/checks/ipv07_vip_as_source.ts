import { parseIp } from "../../base/ip.ts";
import { check } from "../check.ts";
import { few, fine, problem } from "../judging/findings.ts";
import { serviceAddresses } from "../judging/frontends.ts";
import { goesWithItsMode, ipvsInterface, proxyTable } from "../judging/kube_names.ts";
import { allRules, namesAddress, namesInterface } from "../judging/rule_use.ts";

/** The kernel's own table of local addresses. */
const LOCAL_TABLE = 255;

/** Routes and rules that take the address of a Service for one of the node. */
export const vipAsSource = check({
  id: "IPV07",
  group: "ipvs",
  title: "vip-as-source",
  why: "Routes and rules that name kube-ipvs0, or an address on it, mean nothing when it is gone.",
  looks: "Looks through routes and the rules of everybody for kube-ipvs0 and for addresses of " +
    "Services; policy routing (ip rule) is not read.",
  links: ["https://github.com/kubernetes/kubernetes/issues/72236"],
  results: ["pass", "warn"],
  needs: ["network", "firewall"],
  wants: ["objects"],
  judge: ({ facts: { firewall, network }, tried: { objects } }) => {
    const link = network?.links.find(({ name }) => name === ipvsInterface);
    const routes = (network?.routes ?? []).filter(({ destination, linkIndex, table }) =>
      table !== LOCAL_TABLE && link !== undefined && linkIndex === link.index &&
      !destination.startsWith("fe80:") && !destination.startsWith("ff00:")
    ).map(({ destination, table }) => `route to ${destination} in table ${table}`);
    const vips = objects.kind === "value"
      ? [...serviceAddresses(objects.value)].flatMap((ip) => parseIp(ip) ?? [])
      : [];
    const rules = allRules(firewall ?? []).filter(({ chain, table }) =>
      !goesWithItsMode(chain.name) && table.name !== proxyTable
    ).filter(({ rule }) =>
      namesInterface(rule, ipvsInterface) || vips.some((vip) => namesAddress(rule, vip))
    ).map(({ place }) => place);
    const found = [...routes, ...rules];
    if (found.length === 0) return [fine("routes and rules", "None names an address of a Service")];
    return [problem("warn", "routes and rules", {
      evidence: few(found),
      advice: ["Write them anew for an address of the node itself."],
    })];
  },
});
