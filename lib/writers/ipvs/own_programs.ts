/**
 * Programs of the node itself, which have an address of this mode as their own when they connect to it while
 * the link has it, and lose such a connection with the address.
 */
import { cidrContains, parseCidr, parseIp } from "../../base/ip.ts";
import type { OpenSocket } from "../../kernel/inspection/open_sockets.ts";
import { frontendText } from "../../kernel/ipvs/text.ts";
import type { InterfaceAddress, PreferredSource, Route } from "../../kernel/links/links.ts";
import type { Remains } from "./remains.ts";

/** How the node reaches other machines. */
export interface NodeRoutes {
  readonly addresses: readonly InterfaceAddress[];
  readonly routes: readonly Route[];
}

/** The main table: where packets go that no rule of an administrator leads elsewhere. */
const MAIN_TABLE = 254;

/** From where programs will reach each address when it is gone; none for those to which no route will lead. */
export function sourcesOf(
  { families, link }: Remains,
  node: NodeRoutes,
): readonly PreferredSource[] {
  if (!link) return [];
  const linkIndex = link.index;
  const addresses = node.addresses.filter((each) => each.linkIndex !== linkIndex);
  return families.flatMap(({ addresses: own, family }) => {
    const routes = node.routes
      .filter((route) => route.family === family && route.table === MAIN_TABLE)
      .flatMap((route) => {
        const range = parseCidr(route.destination);
        const source = route.source ??
          addresses.find((each) =>
            each.linkIndex === route.linkIndex && each.family === family && each.scope === "global"
          )?.ip;
        return range && source !== undefined ? [{ range, source }] : [];
      })
      .sort((a, b) => b.range.prefixLength - a.range.prefixLength);
    return [...own].flatMap((ip): readonly PreferredSource[] => {
      const bytes = parseIp(ip);
      const found = bytes && routes.find(({ range }) => cidrContains(range, bytes));
      return found ? [{ linkIndex, ip, source: found.source }] : [];
    });
  });
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
