import { check } from "../check.ts";
import type { FactValues } from "../facts/fact_values.ts";
import { few, fine, problem } from "../judging/findings.ts";
import { isJumpOfItsOwn, kubePrefix, proxyTable } from "../judging/kube_names.ts";
import { chainsAfter } from "../judging/rule_use.ts";

type Table = FactValues["firewall"][number];
type Chain = Table["chains"][number];

/** Priorities of both programs: destinations, sources, and the ranges that Services are open to. */
const priorities = {
  this: { destination: -101, source: 99 },
  upstream: { destination: -100, source: 100 },
} as const;
const SOURCE_RANGES = -110;

/** Chains of other software that decide before ours. */
export const hookOrder = check({
  id: "CO03",
  group: "software",
  title: "hook-order",
  why:
    "Of all chains that translate an address the first to match decides: one before the proxy's " +
    "can take connections to Services away from it.",
  looks: "Reads hook and priority of every chain that translates addresses, and of chains at the " +
    "priority where source ranges are checked. This program hooks at -101 and 99.",
  links: ["https://wiki.nftables.org/wiki-nftables/index.php/Netfilter_hooks"],
  results: ["pass", "warn"],
  needs: ["firewall"],
  judge: ({ facts: { firewall = [] }, move: { toProxy } }) => {
    const { destination, source } = priorities[toProxy];
    const isBefore = ({ base }: Chain) => {
      if (!base) return false;
      const isEarly = base.hook === "prerouting" || base.hook === "output";
      if (base.type !== "nat") return base.priority === SOURCE_RANGES && isEarly;
      if (isEarly) return base.priority <= destination;
      return base.hook === "postrouting" && base.priority <= source;
    };
    const found = firewall.filter(({ family, isDormant, name }) =>
      !isDormant && name !== proxyTable && ["ip", "ip6", "inet"].includes(family)
    ).flatMap((table) =>
      table.chains.filter((chain) => isBefore(chain) && doesSomething(chain))
        .map((chain) => describe(table, chain))
    );
    if (found.length === 0) return [fine("hooks", "Nobody translates before the proxy")];
    return [problem("warn", "hooks", {
      evidence: few(found),
      advice: [
        `Have that software hook after ${destination} (dstnat) and ${source} (srcnat), or see that ` +
        "it leaves connections to Services alone.",
      ],
    })];
  },
});

/** A chain that only leads to a proxy's own, or has no rule, is in nobody's way. */
function doesSomething({ rules = [] }: Chain): boolean {
  return rules.some((rule) => {
    const chains = chainsAfter(rule);
    return chains.length === 0 ||
      chains.some((name) => !name.startsWith(kubePrefix) || !isJumpOfItsOwn(name));
  });
}

function describe({ engine, family, name }: Table, { base, name: chain }: Chain): string {
  const table = engine === "legacy" ? `${family}tables-legacy ${name}` : `table ${family} ${name}`;
  return `${table}, chain ${chain}: ${base?.type} on ${base?.hook} at ${base?.priority}`;
}
