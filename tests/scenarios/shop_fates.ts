/** What becomes of packets in the cluster of `shop_services.ts`. */
import type { Protocol } from "../../lib/base/protocol.ts";
import type { Host } from "./addresses.ts";
import type { Destination, EndpointName, Expectation, FateRow } from "./fate.ts";

const A = "pod-a:8080";
const B = "pod-b:8080";
const R = "remote-pod:8080";
const A1 = "pod-a:8081";
const B1 = "pod-b:8081";
const R1 = "remote-pod:8081";

const rejected: Expectation = { kind: "rejected" };
const dropped: Expectation = { kind: "dropped" };
const untouched: Expectation = { kind: "untouched" };

function internal(...endpoints: EndpointName[]): Expectation {
  return { kind: "internal", endpoints };
}

function external(...endpoints: EndpointName[]): Expectation {
  return { kind: "external", endpoints };
}

function local(here: readonly EndpointName[], anywhere: readonly EndpointName[]): Expectation {
  return { kind: "external-local", here, anywhere };
}

/** `PORT/PROTOCOL`, TCP when it is only a port. */
type PortText = `${number}` | `${number}/${Protocol}`;

function parsePort(text: PortText): { port: number; protocol: Protocol } {
  const [port, protocol] = text.split("/");
  const known = (["TCP", "UDP", "SCTP"] as const).find((each) => each === protocol);
  return { port: Number(port), protocol: known ?? "TCP" };
}

type Frontend = "cluster-ip" | "external-ip" | "load-balancer-ip" | "node-port";

/** One row for each of the hosts, frontends and ports. */
function rows(
  from: Host | readonly Host[],
  to: readonly [service: string, frontends: Frontend | readonly Frontend[], ...ports: PortText[]],
  expect: Expectation,
): FateRow[] {
  const [service, frontends, ...ports] = to;
  return [from].flat().flatMap((host) =>
    [frontends].flat().flatMap((frontend) =>
      ports.map((text): FateRow => {
        const { port, protocol } = parsePort(text);
        const destination: Destination = frontend === "node-port"
          ? { kind: frontend, service, port, at: "first" }
          : { kind: frontend, service, port };
        return { from: host, to: destination, protocol, expect };
      })
    )
  );
}

function nodePortAt(
  at: "second" | "loopback",
  from: Host,
  service: string,
  text: PortText,
  expect: Expectation,
): FateRow {
  const { port, protocol } = parsePort(text);
  return { from, to: { kind: "node-port", service, port, at }, protocol, expect };
}

function unallocated(from: Host, text: PortText): FateRow {
  const { port, protocol } = parsePort(text);
  return {
    from,
    to: { kind: "unallocated", port },
    protocol,
    expect: dropped,
    inIptables: untouched,
    inIpvs: untouched,
  };
}

function inIptables(expect: Expectation, all: readonly FateRow[]): FateRow[] {
  return all.map((row) => ({ ...row, inIptables: expect }));
}

function inIpvs(expect: Expectation, all: readonly FateRow[]): FateRow[] {
  return all.map((row) => ({ ...row, inIpvs: expect }));
}

function sticky(all: readonly FateRow[]): FateRow[] {
  return all.map((row) => ({ ...row, sticky: true }));
}

const everyOutside = ["load-balancer-ip", "external-ip", "node-port"] as const;
const everywhere = ["cluster-ip", ...everyOutside] as const;

const clusterIPs: readonly FateRow[] = [
  ...rows(["client-a", "pod-a", "pod-b", "node"], ["web", "cluster-ip", "80"], internal(A, B, R)),
  ...rows(["client-a", "pod-a"], ["web", "cluster-ip", "81"], internal(A1, B1, R1)),
  ...rows(["client-a", "pod-a", "node"], ["web", "cluster-ip", "53/UDP"], internal(A, B, R)),
  ...rows(["client-a", "pod-a"], ["web", "cluster-ip", "80/UDP"], internal(A1, B1, R1)),
  ...rows(["client-a", "pod-a", "node"], ["web", "cluster-ip", "80/SCTP"], internal(A, B, R)),
  ...rows("remote-node", ["node-port", "cluster-ip", "80"], internal(B)),
  ...rows("remote-pod", ["node-port", "cluster-ip", "80"], internal(B)),
  ...rows("remote-pod", ["ranges", "cluster-ip", "80", "53/UDP"], internal(A)),
  ...rows(["client-a", "node"], ["lb-cluster", "cluster-ip", "80", "53/UDP"], internal(A, R)),
];

/** Only nftables mode knows which addresses are the cluster's. */
const unknownPortsAndAddresses: readonly FateRow[] = [
  ...inIptables(untouched, [
    ...rows(
      ["client-a", "pod-a", "node"],
      ["web", "cluster-ip", "9999", "9999/UDP", "9999/SCTP"],
      rejected,
    ),
    ...rows("remote-pod", ["web", "cluster-ip", "9999"], rejected),
    ...rows("client-a", ["gone", "cluster-ip", "81"], rejected)
      .map((row) => ({ ...row, oursAlone: true })),
  ]),
  // In ipvs mode these addresses are the node's, and it refuses what is none of a Service's ports.
  ...inIpvs(rejected, [
    ...rows(["client-a", "node"], ["lb-cluster", "load-balancer-ip", "9999"], untouched),
    ...rows("client-a", ["lb-cluster", "external-ip", "9999"], untouched),
  ]),
  ...(["client-a", "pod-a", "node", "remote-pod"] as const).map((from) => unallocated(from, "80")),
  unallocated("client-a", "53/UDP"),
  unallocated("pod-a", "80/SCTP"),
  ...inIpvs(
    untouched,
    inIptables(untouched, [
      ...rows(["client-a", "pod-a"], ["other-proxy", "cluster-ip", "80"], dropped),
      ...rows("pod-a", ["headless", "cluster-ip", "80"], dropped),
    ]),
  ),
];

const externalPolicyCluster: readonly FateRow[] = [
  ...rows(
    ["client-a", "pod-a", "node"],
    ["lb-cluster", everyOutside, "80", "53/UDP"],
    external(A, R),
  ),
  ...rows(["client-a", "pod-a"], ["lb-cluster", everyOutside, "80/SCTP"], external(A, R)),
  ...rows("remote-pod", ["lb-cluster", everyOutside, "80"], external(A, R)),
  ...rows("remote-node", ["lb-cluster", "node-port", "80"], external(A, R)),
  ...rows(["client-a", "pod-b", "node"], ["node-port", "node-port", "80"], external(B)),
  ...rows("client-a", ["node-port", "node-port", "81"], external(B1)),
  nodePortAt("second", "client-a", "lb-cluster", "80", external(A, R)),
  nodePortAt("second", "client-a", "lb-cluster", "53/UDP", external(A, R)),
  nodePortAt("second", "client-b", "node-port", "80", external(B)),
  nodePortAt("second", "pod-a", "node-port", "80", external(B)),
  nodePortAt("second", "node", "node-port", "80", external(B)),
  nodePortAt("loopback", "node", "lb-cluster", "80", external(A, R)),
  nodePortAt("loopback", "node", "lb-cluster", "53/UDP", external(A, R)),
  nodePortAt("loopback", "node", "node-port", "80", external(B)),
];

const externalPolicyLocal: readonly FateRow[] = [
  ...rows(
    ["client-a", "pod-a", "pod-b", "node"],
    ["lb-local", everyOutside, "80"],
    local([A], [A, R]),
  ),
  ...rows(["client-a", "pod-b"], ["lb-local", everyOutside, "53/UDP"], local([A], [A, R])),
  ...rows("client-a", ["lb-local", "cluster-ip", "80"], internal(A, R)),
  nodePortAt("second", "client-a", "lb-local", "80", local([A], [A, R])),
  nodePortAt("loopback", "node", "lb-local", "80", local([A], [A, R])),
  ...rows(
    ["client-a", "pod-a", "node"],
    ["lb-local-remote", everyOutside, "80"],
    local([], [R]),
  ),
  nodePortAt("second", "client-a", "lb-local-remote", "80", local([], [R])),
  ...rows("client-a", ["lb-local-remote", "cluster-ip", "80"], internal(R)),
  ...rows(
    ["client-a", "pod-a", "node"],
    ["external-ip-local", "external-ip", "80"],
    local([B], [B, R]),
  ),
  ...rows(["client-a", "pod-a", "node"], ["both-local", "node-port", "80"], local([B], [B, R])),
  ...rows("remote-pod", ["hairpin", everyOutside, "80"], local([A], [A])),
];

const hairpin: readonly FateRow[] = [
  ...rows("pod-a", ["hairpin", "cluster-ip", "80", "53/UDP", "80/SCTP"], internal(A)),
  ...rows("pod-a", ["hairpin", everyOutside, "80", "53/UDP"], local([A], [A])),
];

const internalPolicyLocal: readonly FateRow[] = [
  ...rows(
    ["client-a", "pod-a", "pod-b", "node", "remote-pod"],
    ["internal-local", "cluster-ip", "80"],
    internal(B),
  ),
  ...rows(["client-a", "pod-a"], ["internal-local", "cluster-ip", "53/UDP"], internal(B)),
  // ipvs mode cannot drop: its virtual server has no destination, or those of Cluster policy.
  ...inIpvs(
    rejected,
    rows(
      ["client-a", "pod-a", "node", "remote-pod"],
      ["internal-local-remote", "cluster-ip", "80"],
      dropped,
    ),
  ),
  ...rows("client-a", ["both-local", "cluster-ip", "80"], internal(B)),
  ...inIpvs(
    internal(R),
    rows("client-a", ["internal-local-but-exposed", "cluster-ip", "80"], dropped),
  ),
  ...rows(
    ["client-a", "pod-a", "node"],
    ["internal-local-but-exposed", ["load-balancer-ip", "node-port"], "80"],
    external(R),
  ),
];

const noEndpoints: readonly FateRow[] = [
  ...rows(["client-a", "pod-a"], ["empty", everywhere, "80"], rejected),
  ...rows("node", ["empty", ["cluster-ip", "node-port"], "80"], rejected),
  // iptables mode asks for external addresses on the way in and through, not on the way out.
  ...inIptables(
    untouched,
    rows("node", ["empty", ["load-balancer-ip", "external-ip"], "80"], rejected),
  ),
  ...rows(["client-a", "pod-a"], ["empty", everywhere, "53/UDP"], rejected),
  ...rows("client-a", ["empty", ["cluster-ip", "node-port"], "80/SCTP"], rejected),
  ...rows("remote-pod", ["empty", "load-balancer-ip", "80"], rejected),
  nodePortAt("second", "client-a", "empty", "80", rejected),
  nodePortAt("loopback", "node", "empty", "80", rejected),
  ...rows("node", ["gone", "cluster-ip", "80"], rejected),
  // The node itself has that address, and iptables mode asks for cluster IPs on the way through and out.
  ...inIptables(untouched, rows(["client-a", "pod-a"], ["gone", "cluster-ip", "80"], rejected)),
  ...rows(
    "client-a",
    ["empty-local", ["cluster-ip", "load-balancer-ip", "node-port"], "80"],
    rejected,
  ),
  // Without endpoints iptables mode looks at no source ranges.
  ...inIptables(
    rejected,
    rows("client-b", ["empty-local", "load-balancer-ip", "80"], dropped),
  ),
];

const sourceRanges: readonly FateRow[] = [
  ...rows("client-a", ["ranges", "load-balancer-ip", "80", "53/UDP", "80/SCTP"], external(A)),
  ...rows("client-b", ["ranges", "load-balancer-ip", "80", "53/UDP", "80/SCTP"], dropped),
  ...rows(["node", "pod-a", "remote-pod"], ["ranges", "load-balancer-ip", "80"], dropped),
  ...rows("client-b", ["ranges", ["external-ip", "node-port"], "80"], external(A)),
  ...rows("client-b", ["ranges", "cluster-ip", "80"], internal(A)),
  ...rows(["node", "remote-node"], ["ranges-with-node", "load-balancer-ip", "80"], external(A)),
  ...rows("node", ["ranges-with-node", "load-balancer-ip", "80"], external(A))
    .map((row) => ({ ...row, sourceIsDestination: true })),
  ...rows("client-a", ["ranges-with-node", "load-balancer-ip", "80"], dropped),
];

const sessionAffinity: readonly FateRow[] = sticky([
  ...rows(
    ["client-a", "client-b", "pod-a", "node"],
    ["sticky", "cluster-ip", "80"],
    internal(A, B, R),
  ),
  ...rows(["client-a", "pod-b"], ["sticky", "cluster-ip", "53/UDP"], internal(A, B, R)),
  ...rows(["client-a", "node"], ["sticky", everyOutside, "80"], external(A, B, R)),
  ...rows(
    ["client-a", "client-b", "pod-a", "node"],
    ["sticky-local", ["load-balancer-ip", "node-port"], "80"],
    local([A, B], [A, B, R]),
  ),
]);

const conditionsAndHints: readonly FateRow[] = [
  ...rows(["client-a", "pod-b"], ["all-terminating", "cluster-ip", "80"], internal(A, R)),
  ...rows(
    ["client-a", "pod-b", "node"],
    ["all-terminating", ["load-balancer-ip", "node-port"], "80"],
    local([A], [A, R]),
  ),
  ...rows(["client-a", "pod-b"], ["local-terminating", "cluster-ip", "80"], internal(R)),
  ...rows(
    ["client-a", "pod-b", "node"],
    ["local-terminating", ["load-balancer-ip", "node-port"], "80"],
    local([A], [R]),
  ),
  ...rows("client-a", ["published-early", "cluster-ip", "80"], internal(A)),
  ...rows("client-a", ["half-ready", "cluster-ip", "80"], internal(B)),
  ...rows("client-a", ["zoned", "cluster-ip", "80"], internal(A)),
  ...rows("client-a", ["zoned-elsewhere", "cluster-ip", "80"], internal(A, R)),
  ...rows("client-a", ["zoned-in-part", "cluster-ip", "80"], internal(A, R)),
  ...rows("client-a", ["same-node", "cluster-ip", "80"], internal(A)),
  ...rows("client-a", ["same-node-falls-back", "cluster-ip", "80"], internal(A)),
];

const special: readonly FateRow[] = [
  ...rows(["client-a", "pod-a", "node"], ["behind-a-proxy", "load-balancer-ip", "80"], untouched),
  ...rows("client-a", ["behind-a-proxy", "node-port", "80"], external(A)),
  ...rows("client-a", ["behind-a-proxy", "cluster-ip", "80"], internal(A)),
  ...rows(
    ["client-a", "pod-a", "node"],
    ["host-network", ["cluster-ip", "node-port"], "80"],
    { kind: "host-network", endpoints: ["node:8080"] },
  ),
];

/** Every row is unique by its name. */
export const shopFates: readonly FateRow[] = [
  ...clusterIPs,
  ...unknownPortsAndAddresses,
  ...externalPolicyCluster,
  ...externalPolicyLocal,
  ...hairpin,
  ...internalPolicyLocal,
  ...noEndpoints,
  ...sourceRanges,
  ...sessionAffinity,
  ...conditionsAndHints,
  ...special,
];
