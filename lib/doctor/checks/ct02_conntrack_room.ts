import { check } from "../check.ts";
import { Setting } from "../judging/setting_names.ts";
import { fine, problem } from "../judging/findings.ts";

/** Whether conntrack has room for more connections. */
export const conntrackRoom = check({
  id: "CT02",
  group: "kernel",
  title: "conntrack-room",
  why:
    "What IPVS kept in tables of its own is in conntrack's from now on; a full table drops packets.",
  looks: "Compares nf_conntrack_count with nf_conntrack_max.",
  links: ["https://docs.kernel.org/networking/nf_conntrack-sysctl.html"],
  results: ["pass", "warn", "fail"],
  needs: ["settings"],
  judge: ({ facts: { settings } }) => {
    const count = Number(settings?.get(Setting.conntrackCount) ?? 0);
    const max = Number(settings?.get(Setting.conntrackMax) ?? 0);
    // 0 is no limit; without conntrack CT01 says so.
    if (max === 0) return [fine("conntrack", "There is no limit")];
    const share = count / max;
    const told = `${count} of ${max} entries`;
    if (share <= 0.7) return [fine("conntrack", told)];
    return [problem(share > 0.95 ? "fail" : "warn", "conntrack", {
      evidence: [told],
      advice: [`sysctl -w net.netfilter.nf_conntrack_max=${max * 2}`],
    })];
  },
});
