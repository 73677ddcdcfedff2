/** What only this mode has to tell, under upstream's names. */
import type { IpFamily } from "../../base/ip_family.ts";
import type { MetricsRegistry } from "../../base/metrics.ts";
import type { RuleCounts } from "./contribution.ts";
import type { Counters } from "./counters.ts";
import { invalidCounter, localhostCounter } from "./names.ts";
import type { RuleContext } from "./rules/context.ts";
import { nodePortDispatch, staticChains } from "./rules/static_chains.ts";

/** What the tables hold after a sync. */
export interface RulesReport {
  /** Rules of service ports. */
  readonly counts: RuleCounts;
  /** Rules that the sync wrote. */
  readonly written: RuleCounts;
  readonly context: RuleContext;
}

/** Told of each sync. */
export interface IptablesMetrics {
  restoreFailed(family: IpFamily, options: { readonly isPartial: boolean }): void;
  rules(family: IpFamily, report: RulesReport): void;
}

/** Registers the mode's metrics; a family shows up with its first sync or failure. */
export function registerMetrics(
  registry: MetricsRegistry,
  counters: () => Counters | undefined,
): IptablesMetrics {
  const failures = registry.counter({
    name: "kubeproxy_sync_proxy_rules_iptables_restore_failures_total",
    help: "Cumulative proxy iptables restore failures",
    labels: ["ip_family"],
  });
  const partialFailures = registry.counter({
    name: "kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total",
    help: "Cumulative proxy iptables partial restore failures",
    labels: ["ip_family"],
  });
  const total = registry.gauge({
    name: "kubeproxy_sync_proxy_rules_iptables_total",
    help: "Total number of iptables rules owned by kube-proxy",
    labels: ["table", "ip_family"],
  });
  const last = registry.gauge({
    name: "kubeproxy_sync_proxy_rules_iptables_last",
    help: "Number of iptables rules written by kube-proxy in last sync",
    labels: ["table", "ip_family"],
  });
  const counterOf = (name: string, { help, counter }: { help: string; counter: string }) =>
    registry.scraped({
      name,
      help,
      type: "counter",
      read: () => {
        const value = counters()?.packets(counter);
        return value === undefined ? [] : [{ value }];
      },
    });
  counterOf("kubeproxy_iptables_ct_state_invalid_dropped_packets_total", {
    help: "packets dropped by iptables to work around conntrack problems",
    counter: invalidCounter,
  });
  counterOf("kubeproxy_iptables_localhost_nodeports_accepted_packets_total", {
    help: "Number of packets accepted on nodeports of loopback interface",
    counter: localhostCounter,
  });
  return {
    restoreFailed: (family, { isPartial }) => {
      failures.add(1, { ip_family: family });
      if (isPartial) partialFailures.add(1, { ip_family: family });
    },
    rules: (family, { context, counts, written }) => {
      const owned = ownedRules(context, counts);
      for (const table of ["filter", "nat"] as const) {
        total.set(owned[table], { table, ip_family: family });
        last.set(written[table], { table, ip_family: family });
      }
    },
  };
}

/** All rules but the jumps and those of chains that only have to be there, as upstream counts. */
function ownedRules(context: RuleContext, counts: RuleCounts): RuleCounts {
  let { filter, nat } = counts;
  for (const { rules, table } of staticChains(context)) {
    if (table === "nat") nat += rules.length;
    else filter += rules.length;
  }
  return { filter, nat: nat + nodePortDispatch(context).length };
}
