import { check } from "../check.ts";
import { fine, problem, untold } from "../judging/findings.ts";

/** Whether the host's `nft` speaks JSON. */
export const nftJson = check({
  id: "KRN06",
  group: "kernel",
  title: "nft-json",
  why: "Other software on the node (Istio's CNI, for one) reads rules as JSON.",
  looks: "Reads the features that nft -V tells.",
  links: ["https://github.com/istio/istio/issues/58964"],
  results: ["pass", "warn"],
  needs: ["nftTool"],
  judge: ({ facts: { nftTool } }) => {
    if (!nftTool) return [fine("nft", "The host has none")];
    const subject = `${nftTool.path} ${nftTool.version}`;
    switch (nftTool.json) {
      case "yes":
        return [fine(subject)];
      case "no":
        return [problem("warn", subject, {
          evidence: ["It was built without JSON"],
          advice: ["Install a build of nftables with JSON where other software needs it."],
        })];
      case "untold":
        return [untold(subject, "It does not tell whether it speaks JSON")];
    }
  },
});
