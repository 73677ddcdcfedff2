import { check } from "../check.ts";
import { few, fine, problem } from "../judging/findings.ts";
import { isJumpOfItsOwn, kubePrefix, proxyTable } from "../judging/kube_names.ts";
import { allRules, chainsAfter, type PlacedRule } from "../judging/rule_use.ts";

/** Software that leads packets into the proxy's chains. */
export const kubeChainUsers = check({
  id: "CO01",
  group: "software",
  title: "kube-chain-users",
  why:
    "Chains such as KUBE-MARK-MASQ are not there in nftables mode: rules that jump to them keep the " +
    "old mode's chains from going, and mark nothing any more.",
  looks:
    "Looks through the rules of everybody for jumps to KUBE-* from other chains, and through the " +
    "CNI's configuration for externalSetMarkChain.",
  links: ["https://github.com/kubernetes/kubernetes/blob/master/pkg/proxy/nftables/README.md"],
  results: ["pass", "fail"],
  needs: ["firewall", "cni"],
  judge: ({ facts: { cni = [], firewall = [] } }) => {
    const jumps = allRules(firewall).filter(({ chain, rule, table }) =>
      table.name !== proxyTable && !chain.name.startsWith(kubePrefix) &&
      chainsAfter(rule).some((to) =>
        to.startsWith(kubePrefix) && !(chain.base && isJumpOfItsOwn(to))
      )
    );
    const networks = cni.flatMap(({ path, plugins }) =>
      plugins.filter(({ externalSetMarkChain }) =>
        typeof externalSetMarkChain === "string" && externalSetMarkChain.startsWith(kubePrefix)
      ).map(({ externalSetMarkChain }) =>
        `${path} has externalSetMarkChain: ${externalSetMarkChain}`
      )
    );
    const found = [
      ...jumps.map(({ place, rule }) => `${place} leads to ${chainsAfter(rule).join(", ")}`),
      ...networks,
    ];
    if (found.length === 0) return [fine("rules and CNI", "Nobody jumps to KUBE-*")];
    return [problem("fail", "rules and CNI", {
      evidence: few(found),
      advice: [
        "Have that software mark packets by a rule of its own, since the mark is no API; or remove:",
        // The last one first: in the older tables the others' numbers stay as they are then.
        ...few(jumps.toReversed().map(removalOf)),
        ...(networks.length > 0
          ? ["Remove externalSetMarkChain from the CNI's configuration."]
          : []),
      ],
    })];
  },
});

function removalOf({ chain, rule, table }: PlacedRule): string {
  if (table.engine === "nft") {
    return `nft delete rule ${table.family} ${table.name} ${chain.name} ${rule.place}`;
  }
  const tool = table.family === "ip6" ? "ip6tables-legacy" : "iptables-legacy";
  return `${tool} -t ${table.name} -D ${chain.name} ${rule.place.replace("rule ", "")}`;
}
