import { check } from "../check.ts";
import { few, fine, problem } from "../judging/findings.ts";
import { kubePrefix, proxyTable } from "../judging/kube_names.ts";
import { allRules, usesMarkBit } from "../judging/rule_use.ts";

const usualBit = 14;

/** Other software that uses the bit by which a proxy marks packets. */
export const markCollision = check({
  id: "CO02",
  group: "software",
  title: "mark-collision",
  why:
    "Packets that somebody else marks with the masquerade bit leave this node with its own address.",
  looks: "Looks through the rules of everybody for that bit of the mark.",
  links: ["https://github.com/kubernetes/kubernetes/blob/master/pkg/proxy/nftables/README.md"],
  results: ["pass", "warn"],
  needs: ["firewall"],
  wants: ["configuration"],
  judge: ({ facts: { firewall = [] }, tried: { configuration } }) => {
    const bit = configuration.kind === "value"
      ? configuration.value.configuration?.nftables.masqueradeBit ?? usualBit
      : usualBit;
    const mark = `0x${(2 ** bit).toString(16)}`;
    const found = allRules(firewall).filter(({ chain, rule, table }) =>
      table.name !== proxyTable && !chain.name.startsWith(kubePrefix) && usesMarkBit(rule, bit)
    ).map(({ place }) => place);
    if (found.length === 0) return [fine(`mark ${mark}`, "Nobody else uses it")];
    return [problem("warn", `mark ${mark}`, {
      evidence: few(found),
      advice: ["Set nftables.masqueradeBit to a bit that nobody uses, such as 13."],
    })];
  },
});
