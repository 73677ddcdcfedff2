import { check } from "../check.ts";
import { few, fine, problem } from "../judging/findings.ts";
import { serviceAddresses } from "../judging/frontends.ts";

/** Monitors that may ping the address of a Service. */
export const vipPing = check({
  id: "IPV09",
  group: "ipvs",
  title: "vip-ping",
  why:
    "In older ipvs modes a ClusterIP answers ping, as an address of the node; in nftables mode it " +
    "is rejected.",
  looks: "Searches the configurations of keepalived, Prometheus and its prober on this node for " +
    "addresses of Services. What other machines ask cannot be seen from here.",
  links: ["https://github.com/kubernetes/kubernetes/issues/72236"],
  where: { from: ["ipvs"] },
  results: ["pass", "warn"],
  needs: ["hostFiles", "objects"],
  judge: ({ facts: { hostFiles = [], objects } }) => {
    const vips = objects ? serviceAddresses(objects) : new Set<string>();
    const monitors = hostFiles.filter(({ path }) => /keepalived|prometheus|blackbox/.test(path));
    const found = monitors.flatMap(({ path, text }) =>
      [...new Set(text.match(/[0-9a-fA-F:.]{3,}/g) ?? [])].filter((word) => vips.has(word))
        .map((vip) => `${path} names ${vip}`)
    );
    if (found.length === 0) {
      return [fine("monitors of this node", "None names a Service's address")];
    }
    return [problem("warn", "monitors of this node", {
      evidence: few(found),
      advice: ["Have them connect by TCP to a port of the Service."],
    })];
  },
});
