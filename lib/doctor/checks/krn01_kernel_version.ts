import { check } from "../check.ts";
import { fine, problem } from "../judging/findings.ts";
import { isBefore } from "../judging/versions.ts";

const skip = "KUBE_PROXY_NFTABLES_SKIP_KERNEL_VERSION_CHECK";

/** What this kernel's version means: to this program little, since it asks the kernel itself. */
export const kernelVersion = check({
  id: "KRN01",
  group: "kernel",
  title: "kernel-version",
  why:
    "Stock kube-proxy refuses nftables mode on kernels before 5.13, and kernels before 6.1 reset " +
    "connections of their own whose packets arrive out of order.",
  looks:
    "Reads the kernel's release. To this program the expressions that KRN03 tries decide; the " +
    "version only explains.",
  links: ["https://kubernetes.io/docs/reference/networking/virtual-ips/"],
  results: ["pass", "warn", "fail"],
  needs: ["kernel"],
  wants: ["software"],
  judge: ({ facts: { kernel }, move: { toProxy }, tried: { software } }) => {
    if (!kernel) return [];
    const version = [kernel.major, kernel.minor];
    const subject = `kernel ${kernel.release}`;
    const isOld = isBefore(version, [5, 13]);
    if (isOld && toProxy === "upstream") {
      const skips = software.kind === "value" &&
        software.value.workloads.some(({ env, name }) => name === "kube-proxy" && env.has(skip));
      return [problem(skips ? "warn" : "fail", subject, {
        evidence: [
          skips
            ? `Stock kube-proxy refuses it, but for ${skip}, which is set`
            : "Stock kube-proxy 1.37 refuses kernels before 5.13",
        ],
        advice: ["Use this program, which needs no newer kernel, or upgrade the kernel."],
        unfixable: !skips,
      })];
    }
    if (isOld) {
      return [problem("warn", subject, {
        evidence: ["Works with this program; stock kube-proxy refuses kernels before 5.13"],
        advice: ["Upgrade the kernel before you go back to stock kube-proxy."],
      })];
    }
    if (isBefore(version, [6, 1])) {
      return [problem("warn", subject, {
        evidence: [
          "Kernels before 6.1 reset connections whose packets come out of order: see CT04",
        ],
        advice: ["Set conntrack.tcpBeLiberal: true in the configuration, or upgrade the kernel."],
      })];
    }
    return [fine(subject)];
  },
});
