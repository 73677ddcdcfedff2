import { check } from "../check.ts";
import { few, fine, problem } from "../judging/findings.ts";
import { describeServer } from "../judging/virtual_servers.ts";

/** They send a client to the same endpoint each time, which somebody may count on. */
const sticky = new Set(["sh", "dh", "mh"]);
const even = new Set(["", "rr"]);

/** Which endpoint gets the next connection. */
export const scheduler = check({
  id: "IPV03",
  group: "ipvs",
  title: "scheduler",
  why: "Nftables mode chooses at random, whatever the scheduler of IPVS was.",
  looks: "Reads the schedulers of all virtual servers, and that of the configuration.",
  links: ["https://kubernetes.io/docs/reference/networking/virtual-ips/"],
  where: { from: ["ipvs"] },
  results: ["pass", "warn", "fail"],
  needs: ["ipvs"],
  wants: ["configuration"],
  judge: ({ facts: { ipvs }, tried: { configuration } }) => {
    const configured = configuration.kind === "value"
      ? configuration.value.configuration?.ipvs.scheduler ?? ""
      : "";
    const servers = ipvs?.servers ?? [];
    const live = [...new Set(servers.map(({ scheduler }) => scheduler))];
    const used = [...new Set([...live, configured].filter((each) => each !== ""))].sort();
    const subject = `scheduler ${used.join(", ") || "rr"}`;
    if (used.every((each) => even.has(each))) return [fine(subject, "Random from now on")];
    const counted = servers.filter(({ persistentSeconds, scheduler }) =>
      sticky.has(scheduler) && persistentSeconds === 0
    );
    if (counted.length > 0) {
      return [problem("fail", subject, {
        evidence: [
          "A client keeps its endpoint by the scheduler alone at these:",
          ...few(counted.map(describeServer)),
        ],
        advice: ["Set sessionAffinity: ClientIP at the Services whose clients need that."],
      })];
    }
    return [problem("warn", subject, {
      evidence: ["Load and weights count no longer: endpoints are chosen at random"],
      advice: ["Nothing to set: check that no Service counts on it."],
    })];
  },
});
