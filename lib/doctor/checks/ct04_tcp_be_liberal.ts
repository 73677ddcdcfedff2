import { check } from "../check.ts";
import { Setting } from "../judging/setting_names.ts";
import { fine, problem } from "../judging/findings.ts";
import { isBefore } from "../judging/versions.ts";

/** Whether packets that conntrack calls invalid will end connections. */
export const tcpBeLiberal = check({
  id: "CT04",
  group: "kernel",
  title: "tcp-be-liberal",
  why:
    "Iptables mode drops INVALID packets of connections to Services; nftables mode does not, and " +
    "kernels before 6.1 answer them with a reset.",
  looks: "Reads the kernel's version, nf_conntrack_tcp_be_liberal, and how many such packets the " +
    "proxy that runs has dropped.",
  links: [
    "https://kubernetes.io/docs/reference/networking/virtual-ips/",
    "https://github.com/kubernetes/kubernetes/issues/122663",
  ],
  results: ["pass", "warn", "fail"],
  needs: ["kernel", "settings"],
  wants: ["invalidDrops"],
  judge: ({ facts: { kernel, settings }, move: { from }, tried: { invalidDrops } }) => {
    if (!kernel || !isBefore([kernel.major, kernel.minor], [6, 1])) {
      return [fine("conntrack", "This kernel treats such packets well")];
    }
    const name = "net.netfilter.nf_conntrack_tcp_be_liberal";
    if (settings?.get(Setting.tcpBeLiberal) === "1") return [fine(name, "It is 1")];
    const drops = invalidDrops.kind === "value" ? invalidDrops.value : undefined;
    if (from === "iptables" && drops?.count === 0) {
      return [fine(name, "It is 0, and the proxy that runs has dropped no INVALID packet")];
    }
    return [problem(drops?.isRising ? "fail" : "warn", name, {
      evidence: [
        `It is 0, and the kernel is ${kernel.release}`,
        ...(drops ? [`The proxy that runs has dropped ${drops.count} INVALID packets`] : []),
        ...(drops?.isRising ? ["There were more of them while this ran"] : []),
      ],
      advice: [
        "Set conntrack.tcpBeLiberal: true in the configuration.",
        `sysctl -w ${name}=1`,
      ],
    })];
  },
});
