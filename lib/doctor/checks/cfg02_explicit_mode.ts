import { check } from "../check.ts";
import { fine, problem } from "../judging/findings.ts";

/** Whether the configuration chooses a mode. */
export const explicitMode = check({
  id: "CFG02",
  group: "config",
  title: "explicit-mode",
  why: "Without a mode the default holds, which changes from iptables to nftables in 1.40.",
  looks: "Reads mode of the configuration.",
  links: ["https://github.com/kubernetes/enhancements/issues/5495"],
  results: ["pass", "warn"],
  needs: ["configuration"],
  judge: ({ facts: { configuration } }) => {
    const read = configuration?.configuration;
    if (!configuration || !read) return [fine("mode", "No configuration is known")];
    if (read.mode !== "") return [fine(`mode: ${read.mode}`)];
    return [problem("warn", configuration.where, {
      evidence: ["mode is empty"],
      advice: ["mode: nftables"],
    })];
  },
});
