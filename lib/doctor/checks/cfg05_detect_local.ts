import { check } from "../check.ts";
import { fine, problem } from "../judging/findings.ts";

/** Whether the proxy can tell this node's pods from others. */
export const detectLocal = check({
  id: "CFG05",
  group: "config",
  title: "detect-local",
  why: "A proxy that cannot tell what local pods send masquerades too much or too little.",
  looks: "Reads detectLocalMode, and what that mode needs.",
  links: ["https://kubernetes.io/docs/reference/config-api/kube-proxy-config.v1alpha1/"],
  results: ["pass", "warn"],
  needs: ["configuration"],
  judge: ({ facts: { configuration } }) => {
    const read = configuration?.configuration;
    if (!configuration || !read) return [fine("detectLocalMode", "No configuration is known")];
    const { bridgeInterface, clusterCIDRs, interfaceNamePrefix } = read.detectLocal;
    const lacks = {
      "": clusterCIDRs.length === 0 ? "clusterCIDR" : "",
      ClusterCIDR: clusterCIDRs.length === 0 ? "clusterCIDR" : "",
      NodeCIDR: "",
      BridgeInterface: bridgeInterface === "" ? "detectLocal.bridgeInterface" : "",
      InterfaceNamePrefix: interfaceNamePrefix === "" ? "detectLocal.interfaceNamePrefix" : "",
    }[read.detectLocalMode];
    const mode = read.detectLocalMode || "ClusterCIDR";
    if (lacks === "") return [fine(`detectLocalMode: ${mode}`)];
    return [problem("warn", configuration.where, {
      evidence: [`detectLocalMode is ${mode}, and ${lacks} is not set`],
      advice: ["detectLocalMode: NodeCIDR"],
    })];
  },
});
