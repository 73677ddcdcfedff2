/** Where the table leads connections to endpoints now; upstream's table has the same maps. */
import { ipFamilies } from "../../base/ip_family.ts";
import type { Protocol } from "../../base/protocol.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { NftElement } from "../../kernel/nftables/operations.ts";
import type { ServedFrontend } from "../leftovers.ts";
import { tableOf } from "./names.ts";
import { sets } from "./sets.ts";

const dispatch = sets["service-ips"];

/** See `ModeLeftovers.served`. */
export async function served(
  kernel: Kernel,
  signal: AbortSignal,
): Promise<readonly ServedFrontend[]> {
  const nftables = await kernel.nftables();
  const found: ServedFrontend[] = [];
  for (const family of ipFamilies) {
    signal.throwIfAborted();
    const table = tableOf(family);
    const listing = await nftables.listTable(table);
    if (!listing || listing.isDormant) continue;
    if (!listing.sets.some(({ name }) => name === dispatch.name)) continue;
    // Also those that are refused to outsiders, since no endpoint is on this node: pods reach them.
    for (const element of await nftables.listElements(table, dispatch)) {
      const frontend = frontendOf(element);
      if (frontend) found.push(frontend);
    }
  }
  return found;
}

/** `10.96.0.10 . udp . 53` */
function frontendOf({ key: [ip, name, port] }: NftElement): ServedFrontend | undefined {
  const protocol = protocols.get(String(name));
  return protocol && { ip: String(ip), port: Number(port), protocol };
}

const protocols: ReadonlyMap<string, Protocol> = new Map([
  ["tcp", "TCP"],
  ["udp", "UDP"],
  ["sctp", "SCTP"],
]);
