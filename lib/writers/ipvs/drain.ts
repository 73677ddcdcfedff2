/**
 * Lets the connections of this mode end by themselves, while another mode serves already: a server goes
 * with its last connection, an address with its last server. Nothing new arrives: the other mode's rules
 * come first, and programs of the node itself connect from another address. Connections of UDP are none to
 * wait for, and a pinned client without a connection neither.
 */
import { ipFamilies } from "../../base/ip_family.ts";
import type { IpvsChange, IpvsEntry, IpvsFrontend } from "../../kernel/ipvs/ipvs.ts";
import { frontendText } from "../../kernel/ipvs/text.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { AddressChange } from "../../kernel/links/links.ts";
import type { DrainOptions, Kept } from "../leftovers.ts";
import { linkName } from "./names.ts";
import { ownConnections, sourcesOf } from "./own_programs.ts";
import { readRemains, type Remains } from "./remains.ts";

/** Between two looks at the connections. */
const lookMs = 1_000;
/** So many times as long as a look at many connections takes, nothing is looked at. */
const restFactor = 10;

/** A server with its open connections. */
interface BusyServer {
  readonly server: IpvsFrontend;
  readonly connections: number;
}

/** Returns what still has connections at the deadline; chains and sets are for whoever removes the rest. */
export async function drain(kernel: Kernel, options: DrainOptions): Promise<readonly Kept[]> {
  const { clock, deadlineMs, excluded, onProgress, signal } = options;
  await sparePrograms(kernel, signal);
  for (;;) {
    signal.throwIfAborted();
    const startedAt = clock.monotonic();
    const remains = readRemains(kernel, excluded);
    const busy = busyServers(kernel, remains);
    await removeIdle(kernel, { remains, busy, signal });
    if (busy.length === 0) return [];
    const connections = busy.reduce((sum, each) => sum + each.connections, 0);
    const now = clock.monotonic();
    const left = deadlineMs - now;
    onProgress({ connections, servers: busy.length, leftMs: Math.max(0, left) });
    if (left <= 0) return busy.map(keptOf);
    const restMs = Math.max(lookMs, restFactor * (now - startedAt));
    await clock.sleep(Math.min(restMs, left), signal);
  }
}

/** Where that is refused they go on coming from the address, and are waited for. */
async function sparePrograms({ links }: Kernel, signal: AbortSignal): Promise<void> {
  const link = links.find(linkName);
  if (link) await links.preferSources(sourcesOf(link, links), { signal });
}

/**
 * A destination counts as active what it only seems to have: when a client uses its port again, the
 * answer to the new connection, which the other mode serves, revives what IPVS remembers of the old one,
 * and with busy clients that never ends. So whoever has active connections is looked at more closely.
 * What programs of the node have begun through the other mode ends with the address too.
 */
function busyServers(kernel: Kernel, remains: Remains): readonly BusyServer[] {
  const all = remains.families.flatMap(({ servers }) => servers);
  const active = all.filter(hasActive).map(({ server }) => server);
  const open = active.length > 0 ? kernel.ipvs.openConnections(active) : new Map<string, number>();
  const own = ownConnections(remains, kernel.openSockets());
  return all.map(({ server }) => {
    const name = frontendText(server);
    return { server, connections: Math.max(open.get(name) ?? 0, own.get(name) ?? 0) };
  }).filter(({ connections }) => connections > 0);
}

/** Addresses first: with its server alone, the last packets of a connection would find a closed port. */
async function removeIdle(
  kernel: Kernel,
  { busy, remains, signal }: {
    readonly remains: Remains;
    readonly busy: readonly BusyServer[];
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const busyNames = new Set(busy.map(({ server }) => frontendText(server)));
  const idle = remains.families.flatMap(({ servers }) => servers)
    .filter(({ server }) => !busyNames.has(frontendText(server)));
  const addresses = addressChanges(remains, new Set(busy.map(({ server }) => server.address)));
  if (addresses.length > 0) await kernel.links.changeAddresses(addresses, { signal });
  // Those that nobody serves first: they refuse what the other mode would serve.
  const ordered = [...idle.filter(isEmpty), ...idle.filter((entry) => !isEmpty(entry))];
  const changes = ordered.map(({ server }): IpvsChange => ({ kind: "delete-server", server }));
  if (changes.length > 0) await kernel.ipvs.commit(changes, { signal });
}

function addressChanges(
  { families, link }: Remains,
  busy: ReadonlySet<string>,
): readonly AddressChange[] {
  if (!link) return [];
  return ipFamilies.flatMap((family) => {
    const own = families.find((each) => each.family === family)?.addresses ?? [];
    const prefixLength = family === "IPv4" ? 32 : 128;
    return [...own].filter((ip) => !busy.has(ip)).map((ip): AddressChange => ({
      kind: "delete",
      linkIndex: link.index,
      ip,
      prefixLength,
    }));
  });
}

/** Those of UDP are never counted as such. */
function hasActive({ destinations }: IpvsEntry): boolean {
  return destinations.some(({ activeConnections }) => activeConnections > 0);
}

function isEmpty({ destinations }: IpvsEntry): boolean {
  return destinations.length === 0;
}

function keptOf({ connections, server }: BusyServer): Kept {
  return {
    what: `virtual server ${frontendText(server)}`,
    reason:
      `${connections} ${connections === 1 ? "connection is" : "connections are"} established; ` +
      "drain again, or give --cut-at-deadline to cut what is left",
  };
}
