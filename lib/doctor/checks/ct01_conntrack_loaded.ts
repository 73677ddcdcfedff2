import { check } from "../check.ts";
import { Setting } from "../judging/setting_names.ts";
import { fine, problem } from "../judging/findings.ts";

/** Whether the kernel tracks connections. */
export const conntrackLoaded = check({
  id: "CT01",
  group: "kernel",
  title: "conntrack-loaded",
  why:
    "Every mode translates addresses by connection; a proxy sets conntrack's limits at its start.",
  looks: "Reads net.netfilter.nf_conntrack_max, which comes with the module.",
  links: ["https://github.com/kubernetes/kops/issues/17915"],
  results: ["pass", "fail"],
  needs: ["settings"],
  judge: ({ facts: { settings } }) =>
    settings?.has(Setting.conntrackMax) ? [fine("conntrack")] : [problem("fail", "conntrack", {
      evidence: ["There is no net.netfilter.nf_conntrack_max: the module is not loaded"],
      advice: ["modprobe nf_conntrack"],
    })],
});
