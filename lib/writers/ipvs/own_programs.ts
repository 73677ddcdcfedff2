/**
 * Programs of the node itself, which have an address of this mode as their own when they connect to it while
 * the link has it, and lose such a connection with the address.
 */
import { cidrContains, parseCidr, parseIp } from "../../base/ip.ts";
import { ipFamilies } from "../../base/ip_family.ts";
import type { OpenSocket } from "../../kernel/inspection/open_sockets.ts";
import { frontendText } from "../../kernel/ipvs/text.ts";
import type {
  InterfaceAddress,
  Link,
  Links,
  PreferredSource,
  Route,
} from "../../kernel/links/links.ts";
import { outgoingAddress } from "../../kernel/links/outgoing_address.ts";
import type { Remains } from "./remains.ts";

/** The main table: where packets go that no rule of an administrator leads elsewhere. */
const MAIN_TABLE = 254;

/** From where programs will reach each address of the link when it is gone; none for those to which no route will lead. */
export function sourcesOf(
  { index: linkIndex }: Link,
  links: Pick<Links, "addresses" | "routes">,
): readonly PreferredSource[] {
  return ipFamilies.flatMap((family) => {
    const addresses = links.addresses(family).filter(({ scope }) => scope === "global");
    const others = addresses.filter((each) => each.linkIndex !== linkIndex);
    const ways = waysFrom(others, links.routes(family));
    return addresses.filter((each) => each.linkIndex === linkIndex).flatMap(({ ip }) => {
      const bytes = parseIp(ip);
      const way = bytes && ways.find(({ range }) => cidrContains(range, bytes));
      return way ? [{ linkIndex, ip, source: way.source }] : [];
    });
  });
}

/** Where routes lead and from which of the addresses, the narrowest first. */
function waysFrom(addresses: readonly InterfaceAddress[], routes: readonly Route[]) {
  return routes.filter(({ table }) => table === MAIN_TABLE).flatMap((route) => {
    const range = parseCidr(route.destination);
    const source = route.source ?? outgoingAddress(route, addresses);
    return range && source !== undefined ? [{ range, source }] : [];
  }).sort((a, b) => b.range.prefixLength - a.range.prefixLength);
}

/** How many connections of TCP the node's programs have from an address of this mode, by the server. */
export function ownConnections(
  { families }: Remains,
  sockets: readonly OpenSocket[],
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { address, isListening, peer, peerPort, protocol } of sockets) {
    if (protocol !== "tcp" || isListening) continue;
    const own = families.find(({ addresses }) => addresses.has(address));
    if (!own) continue;
    const { family } = own;
    const name = frontendText({ family, protocol, address: peer, port: peerPort });
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}
