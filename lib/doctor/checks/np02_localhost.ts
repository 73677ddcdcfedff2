import { check } from "../check.ts";
import type { FactValues } from "../facts/fact_values.ts";
import { few, fine, problem } from "../judging/findings.ts";
import { nodePortsOf } from "../judging/frontends.ts";

const counter = "kubeproxy_iptables_localhost_nodeports_accepted_packets_total";
/** Where an apiserver takes NodePorts from by default. */
const usual = { first: 30_000, last: 32_767 };

/** Who reaches NodePorts at 127.0.0.1. */
export const localhost = check({
  id: "NP02",
  group: "nodeports",
  title: "localhost",
  why: "NodePorts answer on 127.0.0.1 in iptables mode and in no other: a registry that the node " +
    "pulls from at localhost:30500 is gone after the move.",
  looks: "Reads the proxy's counter of such packets, sockets that talk to 127.0.0.1, and the " +
    "configurations of container runtimes.",
  links: ["https://kubernetes.io/docs/reference/networking/virtual-ips/"],
  results: ["pass", "fail"],
  needs: ["sockets", "hostFiles"],
  wants: ["objects", "proxyMetrics"],
  judge: ({ facts, move: { from }, tried }) => {
    const objects = tried.objects.kind === "value" ? tried.objects.value : undefined;
    const isNodePort = nodePortTest(objects);
    const packets = tried.proxyMetrics.kind === "value"
      ? tried.proxyMetrics.value.get(counter) ?? 0
      : 0;
    const sockets = (facts.sockets ?? []).filter(({ peer, peerPort, protocol }) =>
      (peer.startsWith("127.") || peer === "::1") && isNodePort(peerPort, protocol)
    );
    const found = [
      ...(packets > 0 ? [`${packets} packets came to NodePorts on 127.0.0.1`] : []),
      ...sockets.map(({ peer, peerPort }) => `A connection to ${peer}:${peerPort}`),
      ...(facts.hostFiles ?? []).flatMap((file) => localPorts(file, isNodePort)),
      ...(objects?.services.some(({ namespace }) => namespace === "zarf")
        ? ["Namespace zarf: its registry is a NodePort on 127.0.0.1"]
        : []),
    ];
    const subject = "NodePorts on 127.0.0.1";
    if (found.length === 0) return [fine(subject, "Nothing uses them")];
    if (from === "ipvs") {
      return [fine(subject, "In ipvs mode they never worked, nor will they now", ...few(found))];
    }
    return [problem("fail", subject, {
      evidence: few(found),
      advice: ["Use an address of the node in place of 127.0.0.1 and localhost."],
    })];
  },
});

function nodePortTest(
  objects: FactValues["objects"] | undefined,
): (port: number, protocol: string) => boolean {
  if (!objects) return (port) => port >= usual.first && port <= usual.last;
  const ports = new Set(nodePortsOf(objects).map(({ port, protocol }) => `${protocol} ${port}`));
  return (port, protocol) => ports.has(`${protocol} ${port}`);
}

/** `server = "http://localhost:30500"`, and folders of registries that have such a name. */
function localPorts(
  { path, text }: FactValues["hostFiles"][number],
  isNodePort: (port: number, protocol: string) => boolean,
): readonly string[] {
  const ports = [...`${path}\n${text}`.matchAll(/(?:localhost|127\.0\.0\.1)[:_](\d{4,5})\b/g)]
    .map(([, port]) => Number(port)).filter((port) => isNodePort(port, "tcp"));
  return [...new Set(ports)].map((port) => `${path} names localhost:${port}`);
}
