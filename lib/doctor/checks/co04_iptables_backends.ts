import { check } from "../check.ts";
import type { FactValues } from "../facts/fact_values.ts";
import { fine, problem } from "../judging/findings.ts";

type Table = FactValues["firewall"][number];
const names = ["filter", "mangle", "nat", "raw", "security"];

/** Rules of iptables in both of its engines. */
export const iptablesBackends = check({
  id: "CO04",
  group: "software",
  title: "iptables-backends",
  why: "Each engine has its own rules, and a tool of one does not show those of the other.",
  looks: "Counts rules in the older tables, and in tables of iptables-nft.",
  links: ["https://wiki.nftables.org/wiki-nftables/index.php/Legacy_xtables_tools"],
  results: ["pass", "warn"],
  needs: ["firewall"],
  judge: ({ facts: { firewall = [] } }) => {
    const legacy = firewall.filter((table) => table.engine === "legacy" && hasRules(table));
    const nft = firewall.filter((table) =>
      table.engine === "nft" && (table.family === "ip" || table.family === "ip6") &&
      names.includes(table.name) && hasRules(table)
    );
    const tools = [
      ...legacy.map(({ family, name }) => `${family}tables-legacy has rules in table ${name}`),
      ...nft.map(({ family, name }) => `${family}tables-nft has rules in table ${name}`),
    ];
    if (legacy.length === 0 || nft.length === 0) return [fine("iptables", ...tools)];
    return [problem("warn", "iptables", {
      evidence: tools,
      advice: ["Have all software of this node use one of them: see update-alternatives iptables."],
    })];
  },
});

/** Chains whose rules were not read are a proxy's, and have some. */
function hasRules({ chains }: Table): boolean {
  return chains.some(({ rules }) => rules === undefined || rules.length > 0);
}
