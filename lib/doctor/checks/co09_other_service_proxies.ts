import { check } from "../check.ts";
import { fine, problem } from "../judging/findings.ts";
import { describeWorkload, workloadNamed } from "../judging/workloads.ts";

/** kube-router and Antrea, where they serve Services too. */
export const otherServiceProxies = check({
  id: "CO09",
  group: "software",
  title: "kube-router-antrea",
  why:
    "Both can serve Services themselves; Antrea's proxyAll has assumed a kube-proxy of iptables.",
  looks: "Reads the flags of kube-router, and proxyAll of Antrea's configuration.",
  links: ["https://github.com/antrea-io/antrea/issues/6308"],
  results: ["pass", "fail"],
  needs: ["software"],
  judge: ({ facts: { software } }) => {
    const router = workloadNamed(software, /^kube-router/);
    const servesServices = router &&
      !router.words.some((word) => /^--run-service-proxy=(false|0)$/.test(word));
    const proxiesAll = software?.settings.get("antrea.proxyAll") === "true";
    const found = [
      ...(router && servesServices
        ? [problem("fail", describeWorkload(router), {
          evidence: ["It serves Services: --run-service-proxy is not false"],
          advice: ["Set --run-service-proxy=false, or run no kube-proxy on these nodes."],
        })]
        : []),
      ...(proxiesAll
        ? [problem("fail", "configmap kube-system/antrea-config", {
          evidence: ["proxyAll is true: Antrea serves Services"],
          advice: ["Set proxyAll: false, or run no kube-proxy on these nodes."],
        })]
        : []),
    ];
    return found.length > 0 ? found : [fine("kube-router, Antrea", "Neither serves Services")];
  },
});
