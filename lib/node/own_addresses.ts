/**
 * This host's own addresses, for where no Node object tells them: as a kubelet chooses, those on the
 * link of the default route.
 */
import { cidrContains, isLoopback, parseCidr, parseIp } from "../base/ip.ts";
import { ipFamilies, type IpFamily } from "../base/ip_family.ts";
import type { InterfaceAddress, Route } from "../kernel/links/links.ts";
import { outgoingAddress } from "../kernel/links/outgoing_address.ts";

const mainTable = 254;
const everywhere: Readonly<Record<IpFamily, string>> = { IPv4: "0.0.0.0/0", IPv6: "::/0" };
const linkLocal = parseCidr("169.254.0.0/16");

/** Addresses and routes of all interfaces, of both families. */
export interface HostNetwork {
  readonly addresses: readonly InterfaceAddress[];
  readonly routes: readonly Route[];
}

/**
 * At most one of each family, IPv4 first: the address in the network of the default gateway, else the
 * first one on that link, else the first one of all. Never one that other hosts cannot reach.
 */
export function ownAddresses(network: HostNetwork): readonly string[] {
  return ipFamilies.flatMap((family) => ownAddress(family, network) ?? []);
}

function ownAddress(family: IpFamily, { addresses, routes }: HostNetwork): string | undefined {
  const candidates = addresses.filter((each) => each.family === family && isReachable(each));
  const ways = routes.filter(({ destination, table }) =>
    table === mainTable && destination === everywhere[family]
  );
  for (const way of ways) {
    const best = outgoingAddress(way, candidates);
    if (best !== undefined) return best;
  }
  return candidates[0]?.ip;
}

function isReachable({ ip, scope }: InterfaceAddress): boolean {
  const bytes = parseIp(ip);
  return bytes !== undefined && scope === "global" && !isLoopback(bytes) &&
    !(linkLocal && cidrContains(linkLocal, bytes));
}
