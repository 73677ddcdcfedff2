import { parseIp } from "../../base/ip.ts";
import { check } from "../check.ts";
import type { FactValues } from "../facts/fact_values.ts";
import { few, fine, problem } from "../judging/findings.ts";
import { serviceAddresses, withoutIpvs } from "../judging/frontends.ts";
import { goesWithItsMode, ipvsInterface, proxyTable } from "../judging/kube_names.ts";
import { allRules, namesAddress, namesInterface } from "../judging/rule_use.ts";

type NodeNetwork = FactValues["network"];

/** The kernel's own table of local addresses. */
const LOCAL_TABLE = 255;

/** Routes and rules that take the address of a Service for one of the node. */
export const vipAsSource = check({
  id: "IPV07",
  group: "ipvs",
  title: "vip-as-source",
  why: "Routes and rules that name kube-ipvs0, or an address on it, mean nothing when it is gone.",
  looks:
    "Looks through routes, ip rule and the packet filters of everybody for kube-ipvs0 and for " +
    "addresses of Services.",
  links: ["https://github.com/kubernetes/kubernetes/issues/72236"],
  results: ["pass", "warn"],
  needs: ["network", "firewall"],
  wants: ["objects"],
  judge: ({ facts: { firewall, network }, tried: { objects } }) => {
    if (!network) return [];
    // What is an address of the node besides stays one.
    const own = new Set(withoutIpvs(network).addresses.map(({ ip }) => ip));
    const all = objects.kind === "value" ? serviceAddresses(objects.value) : [];
    const vips = new Set([...all].filter((ip) => !own.has(ip)));
    const keys = new Set([...vips].flatMap((ip) => parseIp(ip)?.toHex() ?? []));
    const interfaceName = new TextEncoder().encode(ipvsInterface);
    const rules = allRules(firewall ?? []).filter(({ chain, table }) =>
      !goesWithItsMode(chain.name) && table.name !== proxyTable
    ).filter(({ rule }) => namesInterface(rule, interfaceName) || namesAddress(rule, keys))
      .map(({ place }) => place);
    const found = [...routesOf(network, vips), ...routingRulesOf(network, vips), ...rules];
    if (found.length === 0) return [fine("routes and rules", "None names an address of a Service")];
    return [problem("warn", "routes and rules", {
      evidence: few(found),
      advice: ["Write them anew for an address of the node itself."],
    })];
  },
});

function routesOf({ links, routes }: NodeNetwork, vips: ReadonlySet<string>): readonly string[] {
  const link = links.find(({ name }) => name === ipvsInterface);
  return routes.filter(({ destination, linkIndex, source, table }) => {
    // What the kernel itself makes for each address of an interface goes with it.
    if (table === LOCAL_TABLE || /^f[ef][08]0:/.test(destination)) return false;
    const isOnIt = link !== undefined && linkIndex === link.index;
    return isOnIt || namesOne(destination, vips) || (source !== undefined && vips.has(source));
  }).map(({ destination, source, table }) =>
    `route to ${destination} in table ${table}${source === undefined ? "" : `, from ${source}`}`
  );
}

function routingRulesOf(
  { routingRules }: NodeNetwork,
  vips: ReadonlySet<string>,
): readonly string[] {
  return routingRules.filter(({ from, inInterface, outInterface, to }) =>
    [inInterface, outInterface].includes(ipvsInterface) || namesOne(from, vips) ||
    namesOne(to, vips)
  ).map(({ from = "all", inInterface, outInterface, priority, table, to }) =>
    [
      `ip rule ${priority}: from ${from}`,
      ...(to === undefined ? [] : [`to ${to}`]),
      ...(inInterface === "" ? [] : [`iif ${inInterface}`]),
      ...(outInterface === "" ? [] : [`oif ${outInterface}`]),
      `lookup ${table}`,
    ].join(" ")
  );
}

/** A range of one address. */
function namesOne(cidr: string | undefined, vips: ReadonlySet<string>): boolean {
  const [, ip, length] = /^(.+)\/(32|128)$/.exec(cidr ?? "") ?? [];
  return ip !== undefined && (length === "128" || !ip.includes(":")) && vips.has(ip);
}
