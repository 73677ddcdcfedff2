import { check } from "../check.ts";
import { fine } from "../judging/findings.ts";

/** Whether the setting that load balancers of layer 2 ask for is still needed. */
export const strictArp = check({
  id: "IPV10",
  group: "ipvs",
  title: "strict-arp",
  why: "MetalLB and kube-vip ask for strictARP since ipvs mode puts addresses on an interface.",
  looks: "Reads ipvs.strictARP of the configuration, and looks for these two in the cluster.",
  links: ["https://metallb.io/installation/"],
  where: { from: ["ipvs"] },
  results: ["pass"],
  needs: ["configuration"],
  wants: ["software"],
  judge: ({ facts: { configuration }, tried: { software } }) => {
    if (!configuration?.configuration?.ipvs.strictARP) return [fine("ipvs.strictARP", "Not set")];
    const users = software.kind === "value"
      ? software.value.workloads.filter(({ name }) => /metallb|speaker|kube-vip/.test(name))
      : [];
    return [fine(
      "ipvs.strictARP",
      "It is not needed any more: nftables mode puts no address on any interface",
      ...users.map(({ name, namespace }) => `Was asked for by ${namespace}/${name}`),
    )];
  },
});
