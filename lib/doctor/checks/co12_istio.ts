import { check } from "../check.ts";
import { fine, problem } from "../judging/findings.ts";
import { describeWorkload, workloadNamed } from "../judging/workloads.ts";

/** Whether Istio writes rules of nf_tables itself. */
export const istio = check({
  id: "CO12",
  group: "software",
  title: "istio",
  why: "Istio with nativeNftables needs an nft with JSON, and has made some kernels crash.",
  looks: "Looks for Istio's workloads, and reads nativeNftables.",
  links: [
    "https://github.com/istio/istio/issues/58492",
    "https://github.com/istio/istio/issues/58964",
  ],
  results: ["pass", "warn"],
  needs: ["software"],
  judge: ({ facts: { software } }) => {
    const workload = workloadNamed(software, /^(istio-cni-node|ztunnel|istiod)/);
    if (!workload) return [fine("Istio", "It is not here")];
    const isNative = software?.settings.get("istio.nativeNftables") === "true" ||
      workload.env.get("NATIVE_NFTABLES") === "true" ||
      workload.words.some((word) => /native-?nftables(=true)?$/i.test(word));
    const images = workload.images.join(", ");
    if (!isNative) return [fine(describeWorkload(workload), "nativeNftables is not set", images)];
    return [problem("warn", describeWorkload(workload), {
      evidence: ["nativeNftables is set", images],
      advice: ["Stay with the version and the image variant that you tested on this kernel."],
    })];
  },
});
