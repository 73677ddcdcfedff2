/** What only this mode can fail at, counted under upstream's names where it counts that. */
import type { IpFamily } from "../../base/ip_family.ts";
import type { MetricsRegistry } from "../../base/metrics.ts";

/** Told of each failure when it happens. */
export interface NftablesMetrics {
  syncFailed(family: IpFamily): void;
  /** Something that nobody needs any more could not be deleted yet. */
  cleanupFailed(family: IpFamily): void;
  /** So many service ports are left out now; not told while there never was one. */
  skipped(family: IpFamily, count: number): void;
}

/** Registers the mode's counters; a family shows up with its first failure. */
export function registerMetrics(registry: MetricsRegistry): NftablesMetrics {
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
  const skipped = registry.gauge({
    name: "kubeproxy_nftables_skipped_service_ports",
    help: "Service ports that cannot be programmed: the log names each and says why",
    labels: ["ip_family"],
  });
  return {
    syncFailed: (family: IpFamily) => failures.add(1, { ip_family: family }),
    cleanupFailed: (family: IpFamily) => cleanupFailures.add(1, { ip_family: family }),
    skipped: (family: IpFamily, count: number) => skipped.set(count, { ip_family: family }),
  };
}
