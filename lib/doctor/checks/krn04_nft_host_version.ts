import { check } from "../check.ts";
import { fine, problem, untold } from "../judging/findings.ts";
import { isBefore, versionIn } from "../judging/versions.ts";

/** Whether the host's own `nft` can read rules as stock kube-proxy writes them. */
export const nftHostVersion = check({
  id: "KRN04",
  group: "kernel",
  title: "nft-host-version",
  why: "An old nft on the host cannot read the rules that a newer one writes.",
  looks: "Runs nft --version. This program needs no nft.",
  links: ["https://github.com/kubernetes/kubernetes/issues/122743"],
  results: ["pass", "fail"],
  needs: ["nftTool"],
  judge: ({ facts: { nftTool }, move: { toProxy } }) => {
    if (!nftTool) return [fine("nft", "The host has none, and needs none")];
    const subject = `${nftTool.path} ${nftTool.version}`;
    if (toProxy === "this") return [fine(subject, "This program needs no nft")];
    const version = versionIn(nftTool.version);
    if (!version) return [untold(nftTool.path, "It does not tell its version")];
    if (!isBefore(version, [1, 0, 1])) return [fine(subject)];
    return [problem("fail", subject, {
      evidence: ["Versions before 1.0.1 cannot read the rules of stock kube-proxy"],
      advice: ["Upgrade nftables on the host to 1.0.1 or later, or remove it."],
    })];
  },
});
