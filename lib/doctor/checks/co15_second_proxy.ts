import { check } from "../check.ts";
import { fine, problem } from "../judging/findings.ts";

/** Whether more than one proxy serves this node, or another one than was said. */
export const secondProxy = check({
  id: "CO15",
  group: "software",
  title: "second-proxy",
  why: "Two proxies on one node overwrite each other, and the second one finds its ports taken.",
  looks: "Looks for processes of kube-proxy in this network, for who listens on the ports of its " +
    "pages, and asks the proxy for its mode where --from is given.",
  links: ["https://kubernetes.io/docs/reference/command-line-tools-reference/kube-proxy/"],
  results: ["pass", "fail"],
  needs: ["processes", "foundMode"],
  judge: ({ facts: { foundMode, processes }, move: { from, fromGiven } }) => {
    const proxies = processes?.proxies ?? [];
    const running = foundMode?.isRunning ? foundMode : undefined;
    const describe = ({ argv, pid }: { readonly argv: readonly string[]; readonly pid: number }) =>
      `process ${pid}: ${argv.join(" ").slice(0, 120)}`;
    // A page that tells a mode is a proxy's, whatever its process is called (k3s).
    const strangers = running
      ? []
      : (processes?.pageHolders ?? []).filter(({ process }) =>
        process !== undefined && !proxies.some(({ pid }) => pid === process.pid)
      );
    const found = [
      ...(proxies.length > 1
        ? [problem("fail", "kube-proxy", {
          evidence: [`${proxies.length} proxies run in this network`, ...proxies.map(describe)],
          advice: ["Stop all but one."],
        })]
        : []),
      ...strangers.map(({ port, process }) =>
        problem("fail", `port ${port}`, {
          evidence: process ? [describe(process)] : [],
          advice: [
            port === 10_249
              ? "Stop it, or set metricsBindAddress to another port."
              : "Stop it, or set healthzBindAddress to another port.",
          ],
        })
      ),
      ...(fromGiven && running && running.mode !== from
        ? [problem("fail", "kube-proxy", {
          evidence: [`--from is ${from}, and ${running.where} says ${running.mode}`],
          advice: [`Give --from ${running.mode}, or stop that proxy.`],
        })]
        : []),
    ];
    if (found.length > 0) return found;
    const told = [
      ...proxies.map(describe),
      ...(running ? [`${running.where} says ${running.mode}`] : []),
    ];
    return [fine("kube-proxy", ...(told.length > 0 ? told : ["None runs in this network"]))];
  },
});
