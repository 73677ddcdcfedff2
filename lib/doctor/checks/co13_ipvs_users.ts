import { check } from "../check.ts";
import { fine, problem } from "../judging/findings.ts";
import { describeWorkload, workloadNamed } from "../judging/workloads.ts";

/** Other software that has virtual servers of its own. */
export const ipvsUsers = check({
  id: "CO13",
  group: "software",
  title: "kube-vip-keepalived",
  why: "They balance by IPVS too, and stock kube-proxy's clean-up flushes all of it.",
  looks: "Looks for keepalived on this node, with virtual servers in its configuration, and for " +
    "kube-vip in the cluster.",
  links: ["https://kube-vip.io/docs/about/architecture/"],
  results: ["pass", "warn", "fail"],
  needs: ["processes", "hostFiles"],
  wants: ["software"],
  judge: ({ facts: { hostFiles = [], processes }, move: { toProxy }, tried: { software } }) => {
    const runs = (name: RegExp) =>
      (processes?.here ?? []).some(({ argv: [program] }) => name.test(program));
    const hasServers = hostFiles.some(({ path, text }) =>
      path.startsWith("/etc/keepalived/") && /^\s*virtual_server\b/m.test(text)
    );
    const kubeVip = software.kind === "value"
      ? workloadNamed(software.value, /kube-vip/)
      : undefined;
    const balances = kubeVip &&
      (kubeVip.env.get("lb_enable") === "true" || kubeVip.env.get("lb_fwdmethod") !== undefined);
    const found = [
      ...(runs(/(^|\/)keepalived$/) && hasServers ? ["keepalived runs, with virtual servers"] : []),
      ...(kubeVip && balances ? [`${describeWorkload(kubeVip)} balances by IPVS`] : []),
    ];
    if (found.length === 0) return [fine("keepalived, kube-vip", "Neither balances by IPVS")];
    return [
      toProxy === "upstream"
        ? problem("fail", "IPVS", {
          evidence: found,
          advice: [
            "Do not run the clean-up of stock kube-proxy: it flushes these too.",
            "kube-proxy cleanup --mode ipvs",
          ],
        })
        : problem("warn", "IPVS", {
          evidence: found,
          advice: ["Nothing to do: this program leaves them, and so does its cleanup."],
        }),
    ];
  },
});
