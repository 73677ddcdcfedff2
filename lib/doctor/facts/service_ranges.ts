/** Routes, and addresses of this node, that lie inside a range of cluster IPs. */
import { type Cidr, cidrContains, parseCidr, parseIp } from "../../base/ip.ts";
import type { Links } from "../../kernel/links/links.ts";
import type { FactReader } from "../fact.ts";

/** Interfaces of the ipvs mode and loopback, whose addresses inside are the Services' own. */
const ownInterfaces: ReadonlySet<string> = new Set(["kube-ipvs0", "lo", "nodelocaldns"]);
const mainTable = 254;

/** Absent where nothing does, or no ServiceCIDR is known. */
export function serviceRangesReader(links: Links): FactReader<readonly string[]> {
  return {
    timeoutMs: 30_000,
    read: async ({ facts }) => {
      const objects = await facts.read("objects");
      if (objects.kind !== "value") return objects;
      const ranges = objects.value.serviceCIDRs.flatMap(({ cidrs }) =>
        cidrs.flatMap((text) => parseCidr(text) ?? [])
      );
      const names = new Map(links.links().map(({ index, name }) => [index, name]));
      const addresses = links.addresses().filter(({ ip, linkName }) =>
        !ownInterfaces.has(linkName) && isInside(ranges, ip)
      ).map(({ ip, linkName }) => `address ${ip} of ${linkName}`);
      const routes = links.routes().filter(({ destination, table }) =>
        table === mainTable && isInside(ranges, destination.split("/")[0])
      ).map(({ destination, linkIndex }) =>
        `route ${destination} by ${names.get(linkIndex) ?? "several ways"}`
      );
      const found = [...addresses, ...routes];
      return found.length > 0
        ? { kind: "value", value: found }
        : { kind: "absent", because: "no route and no address is inside a ServiceCIDR" };
    },
  };
}

function isInside(ranges: readonly Cidr[], ip: string): boolean {
  const bytes = parseIp(ip);
  return bytes !== undefined && ranges.some((range) => cidrContains(range, bytes));
}
