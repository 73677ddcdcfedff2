import { check } from "../check.ts";
import { few, fine, problem } from "../judging/findings.ts";

const renamed = [
  "kubeproxy_sync_proxy_rules_iptables_restore_failures_total",
  "kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total",
];

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
        ...renamed.filter((name) => names.has(name)).map((name) =>
          `${name}: ${name.replace("_iptables_", "_nftables_").replace("_restore", "_sync")}`
        ),
        "Other such metrics have no like: kubeproxy_sync_proxy_rules_* of any mode tell of syncs.",
      ],
    })];
  },
});
