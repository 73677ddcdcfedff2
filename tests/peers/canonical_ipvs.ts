/** What ipvs mode leaves on a node, as lines that are equal where it means the same. */

/** Its rules are in an order that means nothing. */
const freeOrder = "KUBE-IPVS-OUT-FILTER";

/** The kubelet's, by which proxies find their engine. */
const hint = "KUBE-IPTABLES-HINT";

/**
 * Rules by table and chain, in their order, each with its table before it; chains that every table
 * has are left out. What the other tools list is sorted already.
 */
export function canonicalIpvs(save: string): readonly string[] {
  const rules: { readonly chain: string; readonly line: string }[] = [];
  const others: string[] = [];
  let table = "";
  for (const line of save.split("\n")) {
    if (line.startsWith("*")) table = line.slice(1);
    const chain = /^(?::|-A )(\S+)/.exec(line)?.[1];
    if (chain === undefined) {
      if (!/^(\*.*|COMMIT|)$/.test(line)) others.push(line);
    } else if (chain !== hint && !/^:[A-Z]+ /.test(line)) {
      rules.push({ chain: `${table} ${chain}`, line: `${table} ${line}` });
    }
  }
  const byChain = Map.groupBy(rules, ({ chain }) => chain);
  const sorted = [...byChain.entries()].toSorted(([a], [b]) => a < b ? -1 : 1);
  return [
    ...sorted.flatMap(([chain, all]) => {
      const lines = all.map(({ line }) => line);
      return chain.endsWith(freeOrder) ? lines.toSorted() : lines;
    }),
    ...others,
  ];
}
