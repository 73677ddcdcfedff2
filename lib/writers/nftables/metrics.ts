/** What only this mode can fail at, counted under upstream's names. */
import type { IpFamily } from "../../base/ip_family.ts";
import type { MetricsRegistry } from "../../base/metrics.ts";
import type { ModeMetrics } from "../writer.ts";

/** Registers the mode's counters; a family shows up with its first failure. */
export function registerMetrics(registry: MetricsRegistry): ModeMetrics {
  const failures = registry.counter({
    name: "kubeproxy_sync_proxy_rules_nftables_sync_failures_total",
    help: "Cumulative proxy nftables sync failures",
    labels: ["ip_family"],
  });
  const cleanupFailures = registry.counter({
    name: "kubeproxy_sync_proxy_rules_nftables_cleanup_failures_total",
    help: "Cumulative proxy nftables cleanup failures",
    labels: ["ip_family"],
  });
  return {
    syncFailed: (family: IpFamily) => failures.add(1, { ip_family: family }),
    cleanupFailed: (family: IpFamily) => cleanupFailures.add(1, { ip_family: family }),
  };
}
