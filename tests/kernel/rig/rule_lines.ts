/** A family's rules as lines that are equal where the rules mean the same, whatever came before them. */
import type { IpFamily } from "../../../lib/base/ip_family.ts";
import type { Host } from "../../scenarios/addresses.ts";
import type { RuleMode } from "../../scenarios/setups.ts";
import type { Cluster } from "./cluster.ts";
import { listProxyRules } from "./shop_cluster.ts";
import { linesOf, listProxyTable } from "./traced_fates.ts";

/** Where rules are looked for. */
export interface RulePlace {
  readonly mode: RuleMode;
  readonly family: IpFamily;
  readonly host?: Host;
}

/** The lines of one host; no two are the same. */
export async function ruleLines(
  cluster: Cluster,
  { mode, family, host = "node" }: RulePlace,
): Promise<readonly string[]> {
  return mode.kind === "nftables"
    ? linesOf(await listProxyTable(cluster, family, host))
    : linesOfSave(await listProxyRules(cluster, { mode, family, host }));
}

/** What only one of them has; empty when they are the same. */
export function differentLines(a: readonly string[], b: readonly string[]): readonly string[] {
  const [left, right] = [new Set(a), new Set(b)];
  return [
    ...a.filter((line) => !right.has(line)).map((line) => `- ${line}`),
    ...b.filter((line) => !left.has(line)).map((line) => `+ ${line}`),
  ];
}

/** In these the order of Services is free; what dispatches node ports is behind them. */
const freeOrder = /^KUBE-(SERVICES|NODEPORTS|EXTERNAL-SERVICES|PROXY-FIREWALL)$/;
const dispatch = /kubernetes service nodeports/;

function linesOfSave(save: string): readonly string[] {
  const lines: string[] = [];
  let table = "";
  const counts = new Map<string, number>();
  const isDispatched = new Set<string>();
  const count = (key: string): number => {
    const before = counts.get(key) ?? 0;
    counts.set(key, before + 1);
    return before;
  };
  for (const line of save.split("\n")) {
    if (line.startsWith("*")) table = line;
    if (line.startsWith(":")) lines.push(`${table} ${line}`);
    const [, chain, rule] = /^-A (\S+) (.*)$/.exec(line) ?? [];
    if (chain === undefined) continue;
    const isFree = freeOrder.test(chain) && !dispatch.test(rule);
    const isLate = isFree && isDispatched.has(`${table} ${chain}`) ? " behind the dispatch" : "";
    if (dispatch.test(rule)) isDispatched.add(`${table} ${chain}`);
    // A rule that is there twice is not the same as one that is there once.
    const place = count(isFree ? line : `${table} ${chain}`);
    lines.push(`${table} ${chain}${isLate} ${place}: ${rule}`);
  }
  return lines;
}
