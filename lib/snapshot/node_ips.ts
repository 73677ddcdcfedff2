/** Which addresses are "the node's", and which family comes first. */
import { canonicalIp, familyOfCanonicalIp, isLoopback, parseIp } from "../base/ip.ts";
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
  const second = ips.find((ip) => familyOfCanonicalIp(ip) !== familyOfCanonicalIp(ips[0]));
  return second === undefined ? [ips[0]] : [ips[0], second];
}

/**
 * Node addresses give both; each override that is a real address takes the place of its family's, and
 * the first of these makes its family the primary one.
 */
export function detectNodeIPs(
  hostAddresses: readonly string[],
  overrides: readonly string[],
): NodeIPs {
  const known = (text: string) => canonicalIp(text) ?? [];
  const isSpecified = (ip: string) => ip !== "0.0.0.0" && ip !== "::";
  const own = hostAddresses.flatMap(known).slice(0, 2);
  const better = overrides.flatMap(known).filter(isSpecified);
  const addresses: Record<IpFamily, string> = { IPv4: "127.0.0.1", IPv6: "::1" };
  for (const ip of [...own, ...better.toReversed()]) addresses[familyOfCanonicalIp(ip)] = ip;
  const first = better[0] ?? own[0];
  const primaryFamily = first === undefined ? "IPv4" : familyOfCanonicalIp(first);
  return { primaryFamily, addresses };
}

/** The address of the family as bytes, or undefined while only loopback is known. */
export function knownNodeIP(ips: NodeIPs, family: IpFamily): Uint8Array | undefined {
  const bytes = parseIp(ips.addresses[family]);
  return bytes && !isLoopback(bytes) ? bytes : undefined;
}
