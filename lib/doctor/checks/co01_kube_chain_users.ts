import { check } from "../check.ts";
import { few, fine, problem } from "../judging/findings.ts";
import { isJumpOfItsOwn, kubePrefix, proxyTable } from "../judging/kube_names.ts";
import { allRules, chainsAfter } from "../judging/rule_use.ts";

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
    ).map(({ place, rule }) => `${place} leads to ${chainsAfter(rule).join(", ")}`);
    const networks = cni.flatMap(({ path, plugins }) =>
      plugins.filter(({ externalSetMarkChain }) =>
        typeof externalSetMarkChain === "string" && externalSetMarkChain.startsWith(kubePrefix)
      ).map(({ externalSetMarkChain }) =>
        `${path} has externalSetMarkChain: ${externalSetMarkChain}`
      )
    );
    const found = [...jumps, ...networks];
    if (found.length === 0) return [fine("rules and CNI", "Nobody jumps to KUBE-*")];
    return [problem("fail", "rules and CNI", {
      evidence: few(found),
      advice: [
        "Remove them, or have that software mark packets by a rule of its own: the mark is no API.",
      ],
    })];
  },
});
