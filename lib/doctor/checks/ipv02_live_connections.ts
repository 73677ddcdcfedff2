import { check } from "../check.ts";
import { counted, few, fine, problem } from "../judging/findings.ts";
import { describeServer } from "../judging/virtual_servers.ts";

/** Connections that IPVS carries now. */
export const liveConnections = check({
  id: "IPV02",
  group: "ipvs",
  title: "live-connections",
  why: "They survive the start of nftables mode, and are reset when their virtual server goes.",
  looks: "Counts established connections in /proc/net/ip_vs_conn, by virtual server.",
  links: ["https://kubernetes.io/docs/reference/networking/virtual-ips/"],
  results: ["pass", "warn"],
  needs: ["ipvs"],
  judge: ({ facts: { ipvs } }) => {
    const live = [...ipvs?.connections ?? []].sort((a, b) => b.established - a.established);
    const count = live.reduce((sum, { established }) => sum + established, 0);
    if (count === 0) return [fine("IPVS", "It carries no established connection")];
    return [problem("warn", "IPVS", {
      evidence: [
        counted(count, "established connection"),
        ...few(live.map((each) => `${describeServer(each)}: ${each.established}`)),
        `The one that was silent for longest is forgotten in ${
          Math.min(...live.map(({ soonestExpirySeconds }) => soonestExpirySeconds))
        } s, unless it speaks; IPVS does not tell how old they are`,
      ],
      advice: [
        "Start nftables mode beside ipvs, and then let them end:",
        "kube-proxy cleanup --mode ipvs --drain",
      ],
    })];
  },
});
