import { check } from "../check.ts";
import { few, fine, problem } from "../judging/findings.ts";

const failures = "kubeproxy_sync_proxy_rules_nftables_sync_failures_total";
const nobody = "nothing in nftables mode";

/** What each of upstream's metrics with iptables in its name becomes. */
const successors: ReadonlyMap<string, string> = new Map([
  ["kubeproxy_sync_proxy_rules_iptables_restore_failures_total", failures],
  ["kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total", failures],
  ["kubeproxy_sync_proxy_rules_iptables_total", nobody],
  ["kubeproxy_sync_proxy_rules_iptables_last", nobody],
  [
    "kubeproxy_iptables_ct_state_invalid_dropped_packets_total",
    "nothing in nftables mode, which drops none of them",
  ],
  [
    "kubeproxy_iptables_localhost_nodeports_accepted_packets_total",
    "kubeproxy_nftables_localhost_nodeport_listeners, behind its feature gate",
  ],
]);

function successorOf(metric: string): string {
  const isIpvs = metric.startsWith("node_ipvs_");
  return successors.get(metric) ?? (isIpvs ? "nothing: IPVS carries no Service any more" : nobody);
}

/** Alerts and dashboards that will see nothing any more. */
export const dashboards = check({
  id: "CO14",
  group: "software",
  title: "dashboards",
  why:
    "Metrics with iptables in their names, and node_exporter's of IPVS, vanish: an alert on them is " +
    "silent for ever.",
  looks: "Searches PrometheusRules, and ConfigMaps labelled grafana_dashboard, for such names.",
  links: ["https://kubernetes.io/docs/reference/instrumentation/metrics/"],
  results: ["pass", "warn"],
  needs: ["metricUsers"],
  judge: ({ facts: { metricUsers = [] } }) => {
    if (metricUsers.length === 0) {
      return [fine("alerts and dashboards", "None names such a metric")];
    }
    const names = new Set(metricUsers.flatMap(({ metrics }) => metrics));
    return [problem("warn", "alerts and dashboards", {
      evidence: few(metricUsers.map(({ metrics, where }) => `${where}: ${metrics.join(", ")}`)),
      advice: [
        ...[...names].sort().map((name) => `Instead of ${name}: ${successorOf(name)}`),
        "Metrics that every mode has: kubeproxy_sync_proxy_rules_duration_seconds and " +
        "kubeproxy_sync_proxy_rules_last_timestamp_seconds.",
      ],
    })];
  },
});
