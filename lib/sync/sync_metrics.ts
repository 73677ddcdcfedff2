/** What the sync loops tell, under the names that upstream's dashboards know. */
import type { IpFamily } from "../base/ip_family.ts";
import {
  type Counter,
  exponentialBuckets,
  type Gauge,
  type Histogram,
  linearBuckets,
  type MetricsRegistry,
} from "../base/metrics.ts";
import type { FamilyCounts } from "../trackers/family_totals.ts";
import type { FamilyEvents } from "../trackers/family_state.ts";
import type { ReconciliationMeasure, SyncDuration, SyncMetrics } from "./ports.ts";

/** What the metrics are read from, and which of them the mode has. */
export interface SyncMetricsOptions {
  readonly registry: MetricsRegistry;
  /** The families' own counts of events. */
  readonly events: () => readonly FamilyEvents[];
  /** Whether the mode tells full syncs from partial ones. */
  readonly partialSyncs: boolean;
}

const durations = exponentialBuckets(0.001, 2, 15);
/** Upstream's way of joining lists begins with 0; then 0.25, 0.5, each second to 59, each 5 s to 115, each 30 s to 300. */
const programmingDurations = [
  0,
  0.25,
  0.5,
  ...linearBuckets(1, 1, 59),
  ...linearBuckets(60, 5, 12),
  ...linearBuckets(120, 30, 7),
];
const family = ["ip_family"] as const;

/** Registers upstream's names once; one instance serves both families. */
export class PromSyncMetrics implements SyncMetrics {
  readonly #all: Histogram;
  readonly #full: Histogram | undefined;
  readonly #partial: Histogram | undefined;
  readonly #lastSync: Gauge;
  readonly #lastQueued: Gauge;
  readonly #programming: Histogram;
  readonly #noLocalEndpoints: Gauge;
  readonly #reconciliation: Histogram;
  readonly #removedFlows: Counter;

  constructor({ registry, events, partialSyncs }: SyncMetricsOptions) {
    const histogram = (name: string, help: string, buckets: readonly number[] = durations) =>
      registry.histogram({ name: `kubeproxy_${name}`, help, buckets, labels: family });
    const gauge = (name: string, help: string, labels: readonly string[] = family) =>
      registry.gauge({ name: `kubeproxy_${name}`, help, labels });
    const latency = "SyncProxyRules latency in seconds";
    this.#all = histogram("sync_proxy_rules_duration_seconds", latency);
    if (partialSyncs) {
      const kind = (name: string) => `${latency} for ${name} resyncs`;
      this.#full = histogram("sync_full_proxy_rules_duration_seconds", kind("full"));
      this.#partial = histogram("sync_partial_proxy_rules_duration_seconds", kind("partial"));
    }
    this.#lastSync = gauge(
      "sync_proxy_rules_last_timestamp_seconds",
      "The last time proxy rules were successfully synced",
    );
    this.#lastQueued = gauge(
      "sync_proxy_rules_last_queued_timestamp_seconds",
      "The last time a sync of proxy rules was queued",
    );
    this.#programming = histogram(
      "network_programming_duration_seconds",
      "In Cluster Network Programming Latency in seconds",
      programmingDurations,
    );
    this.#noLocalEndpoints = gauge(
      "sync_proxy_rules_no_local_endpoints_total",
      "Number of services with a Local traffic policy and no endpoints",
      ["traffic_policy", ...family],
    );
    this.#reconciliation = histogram(
      "conntrack_reconciler_sync_duration_seconds",
      "ReconcileConntrackFlowsLatency latency in seconds",
    );
    this.#removedFlows = registry.counter({
      name: "kubeproxy_conntrack_reconciler_deleted_entries_total",
      help: "Cumulative conntrack flows deleted by conntrack reconciler",
      labels: family,
    });
    registerEvents(registry, events);
  }

  queued(family: IpFamily, nowMs: number): void {
    this.#lastQueued.set(nowMs / 1000, { ip_family: family });
  }

  ended(family: IpFamily, { full, seconds }: SyncDuration): void {
    const labels = { ip_family: family };
    this.#all.observe(seconds, labels);
    (full ? this.#full : this.#partial)?.observe(seconds, labels);
  }

  succeeded(family: IpFamily, nowMs: number): void {
    this.#lastSync.set(nowMs / 1000, { ip_family: family });
  }

  programmed(family: IpFamily, seconds: number): void {
    this.#programming.observe(seconds, { ip_family: family });
  }

  counts(family: IpFamily, counts: FamilyCounts): void {
    const set = (policy: string, value: number) =>
      this.#noLocalEndpoints.set(value, { traffic_policy: policy, ip_family: family });
    set("internal", counts.noLocalInternal);
    set("external", counts.noLocalExternal);
  }

  reconciled(family: IpFamily, { removed, seconds }: ReconciliationMeasure): void {
    this.#reconciliation.observe(seconds, { ip_family: family });
    this.#removedFlows.add(removed, { ip_family: family });
  }
}

/** One series for both families, as upstream has it: dual stack counts a Service's event twice. */
function registerEvents(registry: MetricsRegistry, events: () => readonly FamilyEvents[]): void {
  const sum = (field: keyof FamilyEvents) => () => [
    { value: events().reduce((total, each) => total + each[field], 0) },
  ];
  for (const [object, what] of [["endpoint", "Endpoint"], ["service", "Service"]] as const) {
    registry.scraped({
      name: `kubeproxy_sync_proxy_rules_${object}_changes_total`,
      help: `Cumulative proxy rules ${what} changes`,
      type: "counter",
      read: sum(`${object}ChangesTotal`),
    });
    registry.scraped({
      name: `kubeproxy_sync_proxy_rules_${object}_changes_pending`,
      help: `Pending proxy rules ${what} changes`,
      type: "gauge",
      read: sum(`${object}ChangesPending`),
    });
  }
}
