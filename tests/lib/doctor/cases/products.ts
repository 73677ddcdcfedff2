/** Cases of the checks of CO that look for products. */
import { known } from "../facts_in_memory.ts";
import type { CheckCases } from "../check_cases.ts";
import { absent, processes, software, workload } from "./node_facts.ts";
import { table } from "./table.ts";

const upstream = { move: { toProxy: "upstream" } } as const;
const none = software([]);
const keepalived = known([{
  path: "/etc/keepalived/keepalived.conf",
  text: "virtual_server 10.0.0.1 80 {\n}",
}]);

const calicoNode = (tag: string) =>
  workload("calico-node", { images: [`quay.io/calico/node:v${tag}`] });
export const productCases: readonly CheckCases[] = [
  table({ id: "CO06", needs: "software" }, [
    ["none", { software: none }, "pass", []],
    [
      "iptables",
      { software: software([calicoNode("3.31.0")], { "calico.linuxDataplane": "Iptables" }) },
      "fail",
      [/linuxDataplane: Iptables/],
    ],
    [
      "nftables",
      { software: software([calicoNode("3.30.0")], { "calico.linuxDataplane": "Nftables" }) },
      "pass",
      [],
    ],
    [
      "eBPF",
      { software: software([calicoNode("3.30.0")], { "calico.linuxDataplane": "BPF" }) },
      "pass",
      [],
    ],
    [
      "Auto on a version that detects it",
      { software: software([calicoNode("3.32.0")], { "calico.nftablesMode": "Auto" }) },
      "pass",
      [],
    ],
    [
      "Auto on an older one",
      { software: software([calicoNode("3.31.4")], { "calico.nftablesMode": "Auto" }) },
      "fail",
      [/version: 3\.31\.4/],
    ],
    [
      "switched off on a version that would detect it",
      { software: software([calicoNode("3.32.0")], { "calico.nftablesMode": "Disabled" }) },
      "fail",
      [],
    ],
    ["nothing is set, on an older one", { software: software([calicoNode("3.29.1")]) }, "fail", []],
  ]),
  table({ id: "CO07", needs: "software" }, [
    ["none", { software: none, iptablesTool: absent }, "pass", []],
    [
      "set",
      {
        software: software([workload("kube-flannel-ds")], { "flannel.EnableNFTables": "true" }),
        iptablesTool: absent,
      },
      "pass",
      [],
    ],
    [
      "not set",
      {
        software: software([workload("kube-flannel-ds")]),
        iptablesTool: known("/usr/sbin/iptables"),
      },
      "warn",
      ["EnableNFTables is not true"],
    ],
    [
      "not set on a host without iptables",
      { software: software([workload("kube-flannel-ds")]), iptablesTool: absent },
      "fail",
      ["The host has no iptables"],
    ],
  ]),
  table({ id: "CO08", needs: "software" }, [
    ["none", { software: none }, "pass", []],
    ["false", { software: software([], { "cilium.kubeProxyReplacement": "false" }) }, "pass", []],
    ["true", { software: software([], { "cilium.kubeProxyReplacement": "true" }) }, "fail", [
      /true/,
    ]],
    [
      "partial",
      { software: software([], { "cilium.kubeProxyReplacement": "partial" }) },
      "warn",
      [/partial/],
    ],
  ]),
  table({ id: "CO09", needs: "software" }, [
    ["none", { software: none }, "pass", []],
    ["kube-router", { software: software([workload("kube-router")]) }, "fail", [
      /run-service-proxy/,
    ]],
    [
      "kube-router for routes alone",
      { software: software([workload("kube-router", { words: ["--run-service-proxy=false"] })]) },
      "pass",
      [],
    ],
    ["Antrea", { software: software([], { "antrea.proxyAll": "true" }) }, "fail", [/proxyAll/]],
  ]),
  table({ id: "CO10", needs: "software" }, [
    ["none", { software: none }, "pass", []],
    [
      "new enough",
      { software: software([workload("aws-node", { images: ["x/amazon-k8s-cni:v1.13.1-eks"] })]) },
      "pass",
      ["Version 1.13.1"],
    ],
    [
      "old",
      { software: software([workload("aws-node", { images: ["x/amazon-k8s-cni:v1.12.6"] })]) },
      "warn",
      ["Version 1.12.6 is older than 1.13.1"],
    ],
    [
      "a digest",
      { software: software([workload("aws-node", { images: ["x/amazon-k8s-cni@sha256:00"] })]) },
      "unknown",
      [/not tell/],
    ],
  ]),
  table({ id: "CO11", needs: "software" }, [
    ["none", { software: none }, "pass", []],
    [
      "there",
      {
        software: software([
          workload("node-local-dns", { words: ["-localip", "169.254.20.10"] }),
        ]),
      },
      "warn",
      ["It listens on 169.254.20.10", /link-local/],
    ],
    [
      "there, from iptables",
      { software: software([workload("node-local-dns")]) },
      "warn",
      ["It listens on not told", /takes over/],
      { move: { from: "iptables" } },
    ],
  ]),
  table({ id: "CO12", needs: "software" }, [
    ["none", { software: none }, "pass", []],
    ["by iptables", { software: software([workload("istiod")]) }, "pass", [/not set/]],
    [
      "by nftables",
      { software: software([workload("istio-cni-node")], { "istio.nativeNftables": "true" }) },
      "warn",
      ["nativeNftables is set"],
    ],
  ]),
  table({ id: "CO13", needs: "processes" }, [
    ["neither", { processes: processes([]), hostFiles: keepalived }, "pass", []],
    [
      "keepalived for addresses alone",
      { processes: processes([], ["/usr/sbin/keepalived -D"]), hostFiles: known([]) },
      "pass",
      [],
    ],
    [
      "keepalived",
      { processes: processes([], ["/usr/sbin/keepalived -D"]), hostFiles: keepalived },
      "warn",
      [/keepalived runs/],
    ],
    [
      "kube-vip for addresses alone",
      {
        processes: processes([]),
        hostFiles: known([]),
        software: software([workload("kube-vip-ds", { env: new Map([["vip_arp", "true"]]) })]),
      },
      "pass",
      ["Neither balances by IPVS"],
    ],
    [
      "kube-vip that forwards",
      {
        processes: processes([]),
        hostFiles: known([]),
        software: software([
          workload("kube-vip-ds", { env: new Map([["lb_fwdmethod", "local"]]) }),
        ]),
      },
      "warn",
      ["DaemonSet kube-system/kube-vip-ds balances by IPVS"],
    ],
    [
      "kube-vip, to stock kube-proxy",
      {
        processes: processes([]),
        hostFiles: known([]),
        software: software([workload("kube-vip-ds", { env: new Map([["lb_enable", "true"]]) })]),
      },
      "fail",
      ["DaemonSet kube-system/kube-vip-ds balances by IPVS"],
      upstream,
    ],
  ]),
  table({ id: "CO14", needs: "metricUsers" }, [
    ["none", { metricUsers: known([]) }, "pass", []],
    [
      "an alert",
      {
        metricUsers: known([{
          where: "PrometheusRule monitoring/proxy",
          metrics: ["kubeproxy_sync_proxy_rules_iptables_restore_failures_total"],
        }]),
      },
      "warn",
      [/^PrometheusRule monitoring\/proxy: /],
    ],
    [
      "each of upstream's metrics, and what it becomes",
      {
        metricUsers: known([{
          where: "ConfigMap monitoring/nodes",
          metrics: [
            "kubeproxy_iptables_ct_state_invalid_dropped_packets_total",
            "kubeproxy_iptables_localhost_nodeports_accepted_packets_total",
            "kubeproxy_sync_proxy_rules_iptables_last",
            "kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total",
            "kubeproxy_sync_proxy_rules_iptables_restore_failures_total",
            "kubeproxy_sync_proxy_rules_iptables_total",
            "node_ipvs_connections_total",
          ],
        }]),
      },
      "warn",
      [],
      {
        advice: [
          "Instead of kubeproxy_iptables_ct_state_invalid_dropped_packets_total: nothing in nftables " +
          "mode, which drops none of them",
          "Instead of kubeproxy_iptables_localhost_nodeports_accepted_packets_total: " +
          "kubeproxy_nftables_localhost_nodeport_listeners, behind its feature gate",
          "Instead of kubeproxy_sync_proxy_rules_iptables_last: nothing in nftables mode",
          "Instead of kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total: " +
          "kubeproxy_sync_proxy_rules_nftables_sync_failures_total",
          "Instead of kubeproxy_sync_proxy_rules_iptables_restore_failures_total: " +
          "kubeproxy_sync_proxy_rules_nftables_sync_failures_total",
          "Instead of kubeproxy_sync_proxy_rules_iptables_total: nothing in nftables mode",
          "Instead of node_ipvs_connections_total: nothing: IPVS carries no Service any more",
          "Metrics that every mode has: kubeproxy_sync_proxy_rules_duration_seconds and " +
          "kubeproxy_sync_proxy_rules_last_timestamp_seconds.",
        ],
      },
    ],
  ]),
];
