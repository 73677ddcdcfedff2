import { check } from "../check.ts";
import { fine, problem } from "../judging/findings.ts";

/** What the proxy reads; namespaces only for those that opt out of it. */
const role = `kubectl create clusterrole kube-proxy-reader --verb=list,watch \
--resource=services,nodes,namespaces,endpointslices.discovery.k8s.io,servicecidrs.networking.k8s.io`;

/** Whether the apiserver gives a proxy what it reads. */
export const rbac = check({
  id: "CFG07",
  group: "cluster",
  title: "rbac",
  why:
    "Without the right to list and watch these a proxy programs nothing, or less than it should.",
  looks: "Asks the apiserver what the identity of this kubeconfig may do: give it the proxy's own.",
  links: ["https://kubernetes.io/docs/reference/access-authn-authz/rbac/"],
  results: ["pass", "warn", "fail"],
  needs: ["access"],
  judge: ({ facts: { access }, move: { toProxy } }) => {
    const denied = (access?.denied ?? [])
      .filter((what) => toProxy === "this" || !what.endsWith(" namespaces"));
    if (denied.length === 0) return [fine("apiserver", "Everything that a proxy reads is allowed")];
    const evidence = denied.map((what) => `Not allowed: ${what}`);
    // Stock kube-proxy's role has no right to see them, and without it every Service is served.
    if (denied.every((what) => what.endsWith(" namespaces"))) {
      return [problem("warn", "apiserver", {
        evidence: [...evidence, "Namespaces that opted out are served all the same"],
        advice: [role],
      })];
    }
    return [problem("fail", "apiserver", { evidence, advice: [role] })];
  },
});
