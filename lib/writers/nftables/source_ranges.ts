/** Who may reach the load balancer addresses of a service port, as elements of an interval set. */
import { type Cidr, cidrContains, parseCidr } from "../../base/ip.ts";
import type { NftElement } from "../../kernel/nftables/operations.ts";
import type { ServicePort } from "../../snapshot/snapshot.ts";
import { plainAddress } from "../../kernel/nftables/element_identity.ts";

/** Whether anybody is kept out. A range of everything allows everybody: nothing to look up then. */
export function hasSourceRanges({ loadBalancerVIPs, sourceRanges }: ServicePort): boolean {
  return loadBalancerVIPs.length > 0 && sourceRanges.length > 0 &&
    !sourceRanges.some((range) => range.endsWith("/0"));
}

/** Address, port and allowed source, for each load balancer address and range; no two overlap. */
export function allowElements(servicePort: ServicePort): readonly NftElement[] {
  if (!hasSourceRanges(servicePort)) return [];
  const { loadBalancerVIPs, port, sourceRanges, sourceRangesHoldNode } = servicePort;
  return [...new Set(loadBalancerVIPs)].flatMap((vip) => {
    // The node's own packets to the address come back with the address as their source.
    const own = sourceRangesHoldNode ? [`${vip}/${vip.includes(":") ? 128 : 32}`] : [];
    return outermost([...sourceRanges, ...own])
      .map((range): NftElement => ({ key: [vip, port, range] }));
  });
}

/** The ranges that no other range holds: the kernel's interval sets refuse overlaps. */
function outermost(texts: readonly string[]): readonly string[] {
  const ranges = [...new Set(texts)].map(parseCidr).filter((range) => range !== undefined);
  const isOutermost = (range: Cidr) =>
    !ranges.some((other) =>
      other.prefixLength < range.prefixLength && cidrContains(other, range.network)
    );
  return ranges.filter(isOutermost).map(({ text }) => plainAddress(text));
}
