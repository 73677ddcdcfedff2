/** The metrics of a sync that every mode has, under upstream's names, labels and buckets. */
import type { IpFamily } from "../base/ip_family.ts";
import { exponentialBuckets, linearBuckets, type MetricsRegistry } from "../base/metrics.ts";
import type { FamilyEvents } from "../trackers/family_state.ts";
import type { SyncMetrics } from "./ports.ts";

const prefix = "kubeproxy_";
const byFamily = ["ip_family"];
const syncBuckets = exponentialBuckets(0.001, 2, 15);
const programmingBuckets = [
  ...linearBuckets(0.25, 0.25, 2),
  ...linearBuckets(1, 1, 59),
  ...linearBuckets(60, 5, 12),
  ...linearBuckets(120, 30, 7),
];

/** Registers them; called once. */
export function registerSyncMetrics(registry: MetricsRegistry): SyncMetrics {
  const durations = registerDurations(registry);
  const lastQueued = registry.gauge({
    name: `${prefix}sync_proxy_rules_last_queued_timestamp_seconds`,
    help: "The last time a sync of proxy rules was queued",
    labels: byFamily,
  });
  const lastSync = registry.gauge({
    name: `${prefix}sync_proxy_rules_last_timestamp_seconds`,
    help: "The last time proxy rules were successfully synced",
    labels: byFamily,
  });
  const noLocal = registry.gauge({
    name: `${prefix}sync_proxy_rules_no_local_endpoints_total`,
    help: "Number of services with a Local traffic policy and no endpoints",
    labels: ["traffic_policy", "ip_family"],
  });
  const removedFlows = registry.counter({
    name: `${prefix}conntrack_reconciler_deleted_entries_total`,
    help: "Cumulative conntrack flows deleted by conntrack reconciler",
    labels: byFamily,
  });
  return {
    queued: (family, nowMs) => lastQueued.set(nowMs / 1000, labelsOf(family)),
    ended: (family, { seconds, full }) => {
      durations.all.observe(seconds, labelsOf(family));
      (full ? durations.full : durations.partial).observe(seconds, labelsOf(family));
    },
    succeeded: (family, nowMs) => lastSync.set(nowMs / 1000, labelsOf(family)),
    failed: () => {},
    programmed: (family, seconds) => durations.programming.observe(seconds, labelsOf(family)),
    counts: (family, { noLocalInternal, noLocalExternal }) => {
      noLocal.set(noLocalInternal, { traffic_policy: "internal", ...labelsOf(family) });
      noLocal.set(noLocalExternal, { traffic_policy: "external", ...labelsOf(family) });
    },
    reconciled: (family, { seconds, removed }) => {
      durations.conntrack.observe(seconds, labelsOf(family));
      removedFlows.add(removed, labelsOf(family));
    },
  };
}

/** Events and changes that wait are read when they are scraped; both families count into one series. */
export function registerChangeMetrics(
  registry: MetricsRegistry,
  events: () => readonly FamilyEvents[],
): void {
  const sum = (field: keyof FamilyEvents) => () => [
    { value: events().reduce((total, family) => total + family[field], 0) },
  ];
  registry.scraped({
    type: "gauge",
    name: `${prefix}sync_proxy_rules_endpoint_changes_pending`,
    help: "Pending proxy rules Endpoint changes",
    read: sum("endpointChangesPending"),
  });
  registry.scraped({
    type: "counter",
    name: `${prefix}sync_proxy_rules_endpoint_changes_total`,
    help: "Cumulative proxy rules Endpoint changes",
    read: sum("endpointChangesTotal"),
  });
  registry.scraped({
    type: "gauge",
    name: `${prefix}sync_proxy_rules_service_changes_pending`,
    help: "Pending proxy rules Service changes",
    read: sum("serviceChangesPending"),
  });
  registry.scraped({
    type: "counter",
    name: `${prefix}sync_proxy_rules_service_changes_total`,
    help: "Cumulative proxy rules Service changes",
    read: sum("serviceChangesTotal"),
  });
}

function registerDurations(registry: MetricsRegistry) {
  const histogram = (name: string, help: string, buckets = syncBuckets) =>
    registry.histogram({ name: `${prefix}${name}`, help, labels: byFamily, buckets });
  return {
    all: histogram("sync_proxy_rules_duration_seconds", "SyncProxyRules latency in seconds"),
    full: histogram(
      "sync_full_proxy_rules_duration_seconds",
      "SyncProxyRules latency in seconds for full resyncs",
    ),
    partial: histogram(
      "sync_partial_proxy_rules_duration_seconds",
      "SyncProxyRules latency in seconds for partial resyncs",
    ),
    conntrack: histogram(
      "conntrack_reconciler_sync_duration_seconds",
      "ReconcileConntrackFlowsLatency latency in seconds",
    ),
    programming: histogram(
      "network_programming_duration_seconds",
      "In Cluster Network Programming Latency in seconds",
      programmingBuckets,
    ),
  };
}

function labelsOf(family: IpFamily) {
  return { ip_family: family };
}
