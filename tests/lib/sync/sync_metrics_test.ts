import assert from "node:assert/strict";
import { MetricsRegistry } from "../../../lib/base/metrics.ts";
import { PromSyncMetrics } from "../../../lib/sync/sync_metrics.ts";
import type { FamilyEvents } from "../../../lib/trackers/family_state.ts";

const none: FamilyEvents = {
  serviceChangesTotal: 0,
  endpointChangesTotal: 0,
  serviceChangesPending: 0,
  endpointChangesPending: 0,
};

function metricsOf(events: readonly FamilyEvents[] = [none], partialSyncs = true) {
  const registry = new MetricsRegistry();
  const metrics = new PromSyncMetrics({
    registry,
    events: () => events,
    partialSyncs,
  });
  return { registry, metrics };
}

async function linesOf(registry: MetricsRegistry, name: string): Promise<readonly string[]> {
  return (await registry.expose()).split("\n").filter((line) => line.startsWith(name));
}

Deno.test("PromSyncMetrics registers upstream's names", () => {
  assert.deepEqual(
    metricsOf().registry.names(),
    [
      "kubeproxy_conntrack_reconciler_deleted_entries_total",
      "kubeproxy_conntrack_reconciler_sync_duration_seconds",
      "kubeproxy_network_programming_duration_seconds",
      "kubeproxy_sync_full_proxy_rules_duration_seconds",
      "kubeproxy_sync_partial_proxy_rules_duration_seconds",
      "kubeproxy_sync_proxy_rules_duration_seconds",
      "kubeproxy_sync_proxy_rules_endpoint_changes_pending",
      "kubeproxy_sync_proxy_rules_endpoint_changes_total",
      "kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds",
      "kubeproxy_sync_proxy_rules_last_timestamp_seconds",
      "kubeproxy_sync_proxy_rules_no_local_endpoints_total",
      "kubeproxy_sync_proxy_rules_service_changes_pending",
      "kubeproxy_sync_proxy_rules_service_changes_total",
    ],
  );
  const whole = metricsOf([none], false).registry.names();
  assert.ok(!whole.some((name) => /_(full|partial)_/.test(name)), whole.join(" "));
});

const moves: readonly {
  name: string;
  move: (metrics: PromSyncMetrics) => void;
  line: string;
}[] = [
  {
    name: "a queued sync",
    move: (metrics) => metrics.queued("IPv6", 1_700_000_000_500),
    line: 'kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds{ip_family="IPv6"} 1700000000.5',
  },
  {
    name: "a sync that succeeded",
    move: (metrics) => metrics.succeeded("IPv4", 1_700_000_001_000),
    line: 'kubeproxy_sync_proxy_rules_last_timestamp_seconds{ip_family="IPv4"} 1700000001',
  },
  {
    name: "the duration of a full sync",
    move: (metrics) => metrics.ended("IPv4", { seconds: 0.5, full: true }),
    line: 'kubeproxy_sync_full_proxy_rules_duration_seconds_count{ip_family="IPv4"} 1',
  },
  {
    name: "the duration of a partial sync",
    move: (metrics) => metrics.ended("IPv4", { seconds: 0.5, full: false }),
    line: 'kubeproxy_sync_partial_proxy_rules_duration_seconds_count{ip_family="IPv4"} 1',
  },
  {
    name: "the duration of any sync",
    move: (metrics) => metrics.ended("IPv6", { seconds: 0.5, full: false }),
    line: 'kubeproxy_sync_proxy_rules_duration_seconds_sum{ip_family="IPv6"} 0.5',
  },
  {
    name: "the time from cause to effect",
    move: (metrics) => metrics.programmed("IPv4", 1.5),
    line: 'kubeproxy_network_programming_duration_seconds_bucket{le="2",ip_family="IPv4"} 1',
  },
  {
    name: "Services without local endpoints",
    move: (metrics) =>
      metrics.counts("IPv4", {
        servicePorts: 9,
        endpoints: 9,
        noLocalInternal: 2,
        noLocalExternal: 3,
      }),
    line:
      'kubeproxy_sync_proxy_rules_no_local_endpoints_total{traffic_policy="external",ip_family="IPv4"} 3',
  },
  {
    name: "flows that were ended",
    move: (metrics) => metrics.reconciled("IPv4", { seconds: 0.01, removed: 7 }),
    line: 'kubeproxy_conntrack_reconciler_deleted_entries_total{ip_family="IPv4"} 7',
  },
];

for (const { line, move, name } of moves) {
  Deno.test(`PromSyncMetrics moves with ${name}`, async () => {
    const { metrics, registry } = metricsOf();
    move(metrics);
    assert.ok((await linesOf(registry, "kubeproxy_")).includes(line), await registry.expose());
  });
}

Deno.test("PromSyncMetrics sums the events of both families", async () => {
  const { registry } = metricsOf([
    { ...none, serviceChangesTotal: 3, endpointChangesPending: 1 },
    { ...none, serviceChangesTotal: 3, endpointChangesPending: 1 },
  ]);
  assert.deepEqual(await linesOf(registry, "kubeproxy_sync_proxy_rules_service_changes_total"), [
    "kubeproxy_sync_proxy_rules_service_changes_total 6",
  ]);
  assert.deepEqual(await linesOf(registry, "kubeproxy_sync_proxy_rules_endpoint_changes_pending"), [
    "kubeproxy_sync_proxy_rules_endpoint_changes_pending 2",
  ]);
});

Deno.test("PromSyncMetrics has upstream's buckets for the time from cause to effect", async () => {
  const { metrics, registry } = metricsOf();
  metrics.programmed("IPv4", 1);
  const bounds = (await linesOf(registry, "kubeproxy_network_programming_duration_seconds_bucket"))
    .map((line) => /le="([^"]+)"/.exec(line)?.[1]);
  assert.equal(bounds.length, 82);
  assert.deepEqual([...bounds.slice(0, 5), ...bounds.slice(-3)], [
    "0",
    "0.25",
    "0.5",
    "1",
    "2",
    "270",
    "300",
    "+Inf",
  ]);
});
