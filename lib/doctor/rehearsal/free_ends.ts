/** Addresses for the two ends of a rehearsal that nothing in the rules means anything by. */
import { cidrContains, parseCidr, parseIp } from "../../base/ip.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import type { Snapshot } from "../../snapshot/snapshot.ts";
import type { Ends } from "./scratch_network.ts";

/** Ranges for documentation and for benchmarks, in the order of preference. */
const candidates: Readonly<Record<IpFamily, readonly Ends[]>> = {
  IPv4: ["192.0.2", "198.51.100", "203.0.113", "198.18.0", "240.0.0"].map((prefix) => ({
    client: `${prefix}.201`,
    node: `${prefix}.202`,
  })),
  IPv6: ["2001:db8", "3fff", "2001:2", "100"].map((prefix) => ({
    client: `${prefix}::c1`,
    node: `${prefix}::c2`,
  })),
};

/** Undefined where every candidate means something to a Service. */
export function freeEnds({ family, services, settings }: Snapshot): Ends | undefined {
  const used = new Set<string>();
  const ranges = [...settings.serviceCIDRs];
  if (settings.localTraffic.kind === "source") ranges.push(settings.localTraffic.cidr);
  if (settings.nodePortAddresses.kind === "listed") {
    for (const ip of settings.nodePortAddresses.addresses) used.add(ip);
  }
  for (const service of services.values()) {
    for (const ip of [...service.externalIPs, ...service.loadBalancerVIPs]) used.add(ip);
    for (const { ip } of service.clusterEndpoints) used.add(ip);
    used.add(service.clusterIP);
  }
  const cidrs = ranges.flatMap((range) => parseCidr(range) ?? []);
  const isFree = (ip: string) => {
    const bytes = parseIp(ip);
    return !used.has(ip) && bytes !== undefined && !cidrs.some((cidr) => cidrContains(cidr, bytes));
  };
  return candidates[family].find(({ client, node }) => isFree(client) && isFree(node));
}
