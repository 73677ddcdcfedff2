import { check } from "../check.ts";
import { fine, problem } from "../judging/findings.ts";

/** Timeouts that hold for IPVS alone. */
export const timeouts = check({
  id: "IPV05",
  group: "ipvs",
  title: "timeouts",
  why:
    "Nftables mode keeps no connections of its own: the kernel's conntrack does, by its timeouts.",
  looks: "Reads ipvs.tcpTimeout, tcpFinTimeout and udpTimeout of the configuration.",
  links: ["https://kubernetes.io/docs/reference/config-api/kube-proxy-config.v1alpha1/"],
  results: ["pass", "warn"],
  needs: ["configuration"],
  judge: ({ facts: { configuration } }) => {
    const ipvs = configuration?.configuration?.ipvs;
    const rows = [
      ["ipvs.tcpTimeout", ipvs?.tcpTimeoutMs, "conntrack.tcpEstablishedTimeout"],
      ["ipvs.tcpFinTimeout", ipvs?.tcpFinTimeoutMs, "conntrack.tcpCloseWaitTimeout"],
      ["ipvs.udpTimeout", ipvs?.udpTimeoutMs, "conntrack.udpStreamTimeout"],
    ] as const;
    const set = rows.filter(([, value = 0]) => value > 0);
    if (set.length === 0) return [fine("timeouts of IPVS", "None is set")];
    return [problem("warn", "timeouts of IPVS", {
      evidence: set.map(([name, value = 0]) => `${name} is ${value / 1000}s, and has no effect`),
      advice: set.map(([, value = 0, instead]) => `${instead}: ${value / 1000}s`),
    })];
  },
});
