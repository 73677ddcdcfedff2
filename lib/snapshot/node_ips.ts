/** Which addresses are "the node's", and which family comes first. */
import { canonicalIp, formatIp, ipFamilyOf, isLoopback, parseIp } from "../base/ip.ts";
import type { IpFamily } from "../base/ip_family.ts";

/** The addresses of a family that is unknown are loopback, as upstream has it. */
export interface NodeIPs {
  readonly primaryFamily: IpFamily;
  readonly addresses: Readonly<Record<IpFamily, string>>;
}

interface TypedAddress {
  readonly type: string;
  readonly address: string;
}

/**
 * The node's own addresses out of its status: the first InternalIP (else ExternalIP) in the order of
 * the status, then the first of the other family. Empty when there is none. Canonical text.
 */
export function hostIPs(addresses: readonly TypedAddress[]): readonly string[] {
  const ips = ["InternalIP", "ExternalIP"].flatMap((type) =>
    addresses.flatMap((entry) => {
      const ip = entry.type === type ? canonicalIp(entry.address) : undefined;
      return ip === undefined ? [] : [ip];
    })
  );
  if (ips.length === 0) return [];
  const second = ips.find((ip) => ipFamilyOf(ip) !== ipFamilyOf(ips[0]));
  return second === undefined ? [ips[0]] : [ips[0], second];
}

/** Node addresses give both; a bind address that is a real one overrides its family and is primary. */
export function detectNodeIPs(hostAddresses: readonly string[], bindAddress: string): NodeIPs {
  let primaryFamily: IpFamily = "IPv4";
  const addresses: Record<IpFamily, string> = { IPv4: "127.0.0.1", IPv6: "::1" };
  for (const [i, text] of hostAddresses.slice(0, 2).entries()) {
    const ip = canonicalIp(text);
    const family = ip === undefined ? undefined : ipFamilyOf(ip);
    if (ip === undefined || family === undefined) continue;
    addresses[family] = ip;
    if (i === 0) primaryFamily = family;
  }
  const bound = parseIp(bindAddress);
  if (bound && bound.some((byte) => byte !== 0)) {
    primaryFamily = bound.length === 4 ? "IPv4" : "IPv6";
    addresses[primaryFamily] = formatIp(bound);
  }
  return { primaryFamily, addresses };
}

/** The address of the family as bytes, or undefined while only loopback is known. */
export function knownNodeIP(ips: NodeIPs, family: IpFamily): Uint8Array | undefined {
  const bytes = parseIp(ips.addresses[family]);
  return bytes && !isLoopback(bytes) ? bytes : undefined;
}
