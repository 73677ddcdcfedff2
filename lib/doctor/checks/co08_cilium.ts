import { check } from "../check.ts";
import { fine, problem } from "../judging/findings.ts";

/** Whether Cilium is a proxy too. */
export const cilium = check({
  id: "CO08",
  group: "software",
  title: "cilium",
  why: "Where Cilium replaces kube-proxy, two of them would serve the same Services.",
  looks: "Reads kube-proxy-replacement of configmap cilium-config.",
  links: ["https://docs.cilium.io/en/stable/network/kubernetes/kubeproxy-free/"],
  results: ["pass", "warn", "fail"],
  needs: ["software"],
  judge: ({ facts: { software } }) => {
    const value = software?.settings.get("cilium.kubeProxyReplacement");
    const subject = "configmap kube-system/cilium-config";
    switch (value) {
      case undefined:
        return [fine("Cilium", "It is not here, or replaces no proxy")];
      case "false":
      case "disabled":
        return [fine(subject, `kube-proxy-replacement is ${value}`)];
      case "true":
      case "strict":
        return [problem("fail", subject, {
          evidence: [`kube-proxy-replacement is ${value}: Cilium serves the Services itself`],
          advice: ["Run no kube-proxy on these nodes, or set kube-proxy-replacement to false."],
        })];
      default:
        return [problem("warn", subject, {
          evidence: [`kube-proxy-replacement is ${value}: Cilium serves some Services`],
          advice: ["Set kube-proxy-replacement to false, or to true and run no kube-proxy."],
        })];
    }
  },
});
