import { check } from "../check.ts";
import { fine, problem } from "../judging/findings.ts";

/** Whether changes wait longer than they need to. */
export const periods = check({
  id: "CFG04",
  group: "config",
  title: "periods",
  why: "With minSyncPeriod iptables and ipvs mode spare work; in nftables mode it only makes " +
    "changes wait.",
  looks: "Reads minSyncPeriod of the configuration.",
  links: ["https://kubernetes.io/docs/reference/networking/virtual-ips/"],
  results: ["pass", "warn"],
  needs: ["configuration"],
  judge: ({ facts: { configuration }, move: { toProxy } }) => {
    const period = configuration?.configuration?.minSyncPeriodMs ?? 0;
    const isLong = toProxy === "this" ? period >= 1_000 : period > 1_000;
    if (!isLong) return [fine("minSyncPeriod", period === 0 ? "Not set" : `${period / 1_000}s`)];
    return [problem("warn", "minSyncPeriod", {
      evidence: [`It is ${period / 1_000}s: every change waits up to so long`],
      advice: [toProxy === "this" ? "Remove minSyncPeriod." : "minSyncPeriod: 1s"],
    })];
  },
});
