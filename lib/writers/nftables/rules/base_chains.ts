/**
 * Where the kernel calls us. The nat chains run one step before the usual priorities (-100 and 100):
 * the first nat chain that decides wins, and rules that another proxy mode left behind must not,
 * whatever the order in which they were loaded. Filter chains look at new connections only, so that
 * nothing here ever touches a connection that is under way.
 */
import type {
  NftBaseChain,
  NftHook,
  NftRule,
  NftStatement,
} from "../../../kernel/nftables/operations.ts";
import { baseChainPurposes, type ChainName } from "../names.ts";
import { type ChainWithRules, jumpTo } from "./statements.ts";

type BaseChainName = keyof typeof baseChainPurposes;

/** Before `dstnat`, so that source ranges see the address that the client used. */
const beforeDnat = -110;
const dnat = -101;
const snat = 99;
const filter = 0;

/** The base chains with their jumps, in the order of the packet's path. */
export function baseChains(): readonly ChainWithRules[] {
  const unserved: readonly ChainName[] = ["service-endpoints-check", "cluster-ips-check"];
  return [
    filterChain("filter-prerouting-pre-dnat", at("prerouting", beforeDnat), ["firewall-check"]),
    filterChain("filter-output-pre-dnat", at("output", beforeDnat), ["firewall-check"]),
    natChain("nat-prerouting", at("prerouting", dnat), "services"),
    natChain("nat-output", at("output", dnat), "services"),
    // cluster-ips-check also here: beside leftovers of ipvs a cluster IP is an address of this node.
    filterChain("filter-input", at("input", filter), ["nodeport-endpoints-check", ...unserved]),
    filterChain("filter-forward", at("forward", filter), unserved),
    filterChain("filter-output", at("output", filter), unserved),
    natChain("nat-postrouting", at("postrouting", snat), "masquerading"),
  ];
}

function at(hook: NftHook, priority: number): Omit<NftBaseChain, "type"> {
  return { hook, priority };
}

function filterChain(
  name: BaseChainName,
  place: Omit<NftBaseChain, "type">,
  targets: readonly ChainName[],
): ChainWithRules {
  const rules = targets.map((target): NftRule => ({
    chain: name,
    statements: [{ kind: "match-ct-new" }, jumpTo(target)],
  }));
  return baseChain(name, { type: "filter", ...place }, rules);
}

function natChain(
  name: BaseChainName,
  place: Omit<NftBaseChain, "type">,
  target: ChainName,
): ChainWithRules {
  const statements: readonly NftStatement[] = [jumpTo(target)];
  return baseChain(name, { type: "nat", ...place }, [{ chain: name, statements }]);
}

function baseChain(
  name: BaseChainName,
  base: NftBaseChain,
  rules: readonly NftRule[],
): ChainWithRules {
  return { chain: { name, base, comment: baseChainPurposes[name] }, rules };
}
