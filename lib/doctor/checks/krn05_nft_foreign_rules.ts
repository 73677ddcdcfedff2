import { check } from "../check.ts";
import { fine, problem, untold } from "../judging/findings.ts";

/** Whether the host's `nft` survives the rules that are there. */
export const nftForeignRules = check({
  id: "KRN05",
  group: "kernel",
  title: "nft-foreign-rules",
  why: "An nft that dies on somebody's rules programs nothing, and stock kube-proxy works by nft.",
  looks:
    "Has nft list tables and sets in a child process, and looks whether it dies. Tables with " +
    "an owner are read from the kernel.",
  links: ["https://github.com/kubernetes/kubernetes/issues/136786"],
  results: ["pass", "warn", "fail"],
  needs: ["nftTool"],
  wants: ["firewall"],
  judge: ({ facts: { nftTool }, move: { toProxy }, tried: { firewall } }) => {
    const owned = firewall.kind === "value" ? firewall.value.filter(({ isOwned }) => isOwned) : [];
    const owners = owned.map(({ family, name }) =>
      `Table ${family} ${name} belongs to the program that made it`
    );
    if (!nftTool) return [fine("nft", "The host has none", ...owners)];
    const { listing, path, version } = nftTool;
    const subject = `${path} ${version}`;
    switch (listing.kind) {
      case "fine":
        return [fine(subject, "It lists every table and set", ...owners)];
      case "crashed":
        return [problem(toProxy === "upstream" ? "fail" : "warn", subject, {
          evidence: [`It died of ${listing.signal} while it listed the rules`],
          advice: ["Upgrade nftables on the host: newer rules kill older versions."],
        })];
      case "forbidden":
        return [untold(subject, `It cannot list the rules: ${listing.words}`)];
      case "refused":
        return [problem("warn", subject, {
          evidence: [`It cannot list the rules: ${listing.words}`],
          advice: ["nft list ruleset"],
        })];
    }
  },
});
