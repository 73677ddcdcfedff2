/**
 * The one address plan of all tests.
 *
 * | what | IPv4 | IPv6 |
 * |---|---|---|
 * | pods | 10.128.0.0/14 | fd00:10:128::/48 |
 * | services | 172.30.0.0/16 | fd00:172:30::/108 |
 * | nodes and clients | 192.168.0.0/16 | fd00:192:168::/48 |
 * | load balancers | 203.0.113.0/24 | 2001:db8:113::/64 |
 * | external IPs | 198.51.100.0/24 | 2001:db8:51::/64 |
 *
 * Service number N of a scenario has the cluster IPs 172.30.0.N and fd00:172:30::N (in decimal
 * digits); its load balancer addresses, external IPs and node ports (30000 + N, 31000 + N) likewise.
 */
import type { IpFamily } from "../../lib/base/ip_family.ts";

/** An address in each family. */
export type DualStack = Readonly<Record<IpFamily, string>>;

export const podCIDRs: DualStack = { IPv4: "10.128.0.0/14", IPv6: "fd00:10:128::/48" };
export const serviceCIDRs: DualStack = { IPv4: "172.30.0.0/16", IPv6: "fd00:172:30::/108" };

/** Where packets come from and go to. `beyond` is whatever lies behind the node's default route. */
export type Host =
  | "node"
  | "client-a"
  | "client-b"
  | "pod-a"
  | "pod-b"
  | "remote-node"
  | "remote-pod"
  | "beyond";

/** Each host's own address; `node` is where the rules live, and its address is the Node's InternalIP. */
export const hostAddresses: Readonly<Record<Host, DualStack>> = {
  node: { IPv4: "192.168.1.1", IPv6: "fd00:192:168:1::1" },
  "client-a": { IPv4: "192.168.10.2", IPv6: "fd00:192:168:10::2" },
  "client-b": { IPv4: "192.168.20.2", IPv6: "fd00:192:168:20::2" },
  "pod-a": { IPv4: "10.128.0.2", IPv6: "fd00:10:128::2" },
  "pod-b": { IPv4: "10.128.0.3", IPv6: "fd00:10:128::3" },
  "remote-node": { IPv4: "192.168.1.2", IPv6: "fd00:192:168:1::2" },
  "remote-pod": { IPv4: "10.129.0.2", IPv6: "fd00:10:128:1::2" },
  beyond: { IPv4: "192.168.99.2", IPv6: "fd00:192:168:99::2" },
};

/** The other end of each host's link: an address of the node, but for the remote pod's. */
export const linkGateways: Readonly<Record<string, DualStack>> = {
  "client-a": { IPv4: "192.168.10.1", IPv6: "fd00:192:168:10::1" },
  "client-b": { IPv4: "192.168.20.1", IPv6: "fd00:192:168:20::1" },
  "pod-a": { IPv4: "10.128.0.1", IPv6: "fd00:10:128::1" },
  "pod-b": { IPv4: "10.128.0.1", IPv6: "fd00:10:128::1" },
  "remote-node": hostAddresses.node,
  "remote-pod": { IPv4: "10.129.0.1", IPv6: "fd00:10:128:1::1" },
  beyond: { IPv4: "192.168.99.1", IPv6: "fd00:192:168:99::1" },
};

/** An address of the node that is not its InternalIP. */
export const secondNodeAddress: DualStack = linkGateways["client-a"];

/** Further source addresses of client-b, for questions that only many clients can answer. */
export const crowdAddresses: Readonly<Record<IpFamily, readonly string[]>> = {
  IPv4: Array.from({ length: 24 }, (_, i) => `192.168.20.${100 + i}`),
  IPv6: Array.from({ length: 24 }, (_, i) => `fd00:192:168:20::${100 + i}`),
};

export function clusterIP(number: number): DualStack {
  return numbered({ IPv4: "172.30.", IPv6: "fd00:172:30::" }, number);
}

/** Numbers below 256 only. */
export function loadBalancerIP(number: number): DualStack {
  return { IPv4: `203.0.113.${number}`, IPv6: `2001:db8:113::${number}` };
}

/** Numbers below 256 only. */
export function externalIP(number: number): DualStack {
  return { IPv4: `198.51.100.${number}`, IPv6: `2001:db8:51::${number}` };
}

/** Numbers up to 9999, which keeps IPv6 inside the service range. */
function numbered(prefixes: DualStack, number: number): DualStack {
  if (number > 9999) throw new RangeError(`Cannot number a service ${number}; 9999 is the last`);
  return {
    IPv4: `${prefixes.IPv4}${number >> 8}.${number & 0xff}`,
    IPv6: `${prefixes.IPv6}${number}`,
  };
}
