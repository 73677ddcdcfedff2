/**
 * Servers as they are listed while others write. The kernel gives its table in pieces, each of which begins
 * at so many servers from the start, and tells of none whether servers came or went since the one before:
 * one that stays may be missed. No two listings miss the same ones then, so more of them are asked for where
 * two differ. Where the kernel keeps the servers of all network namespaces together, the table of `/proc`
 * always misses some beside those of others: it counts theirs in a piece, and not from the start.
 */
import type { IpvsEntry, IpvsFrontend, IpvsServer } from "./ipvs.ts";
import type { ProcServer } from "./proc_table.ts";
import { frontendText } from "./text.ts";

/** The ways to ask for them. */
export interface ServerListings {
  /** All, without their destinations. */
  readonly servers: () => readonly IpvsServer[];
  /** All with their destinations, of which a server's come in one piece. */
  readonly table: () => readonly ProcServer[];
  /** One by itself; undefined where there is none. */
  readonly find: (frontend: IpvsFrontend) => IpvsEntry | undefined;
}

/** So many listings one after the other that name nothing new are believed. */
const believed = 2;
/** Of the table, however busy others are. */
const mostListings = 10;

/** Everything. Whatever the last listings do not agree on is asked for by itself. */
export function readListings(listings: ServerListings): readonly IpvsEntry[] {
  const servers = byName(listings.servers(), (server) => server);
  const listTable = () => byName(listings.table(), ({ frontend }) => frontend);
  let table = listTable();
  const frontends = new Map<string, IpvsFrontend>(servers);
  const isNew = () => addMissing(frontends, table) > 0;
  const isAlike = !isNew() && frontends.size === table.size;
  for (let quiet = 0, count = 1; !isAlike && quiet < believed && count < mostListings; count++) {
    table = listTable();
    quiet = isNew() ? 0 : quiet + 1;
  }
  return [...frontends].flatMap(([name, frontend]) => {
    const server = servers.get(name);
    const destinations = table.get(name)?.destinations;
    return (server && destinations ? { server, destinations } : listings.find(frontend)) ?? [];
  });
}

function byName<T>(
  items: readonly T[],
  frontendOf: (item: T) => IpvsFrontend,
): ReadonlyMap<string, T> {
  return new Map(items.map((item) => [frontendText(frontendOf(item)), item]));
}

/** How many there were. */
function addMissing(
  frontends: Map<string, IpvsFrontend>,
  table: ReadonlyMap<string, ProcServer>,
): number {
  const before = frontends.size;
  for (const [name, { frontend }] of table) {
    if (!frontends.has(name)) frontends.set(name, frontend);
  }
  return frontends.size - before;
}
