/**
 * Lets the connections of this mode end by themselves, while another mode serves already: a server goes
 * with its last connection, an address with its last server. Nothing new arrives: the other mode's rules
 * come first. Connections of UDP are none to wait for, and a pinned client without a connection neither.
 */
import { ipFamilies } from "../../base/ip_family.ts";
import type { IpvsChange, IpvsEntry } from "../../kernel/ipvs/ipvs.ts";
import { frontendText } from "../../kernel/ipvs/text.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { AddressChange } from "../../kernel/links/links.ts";
import type { DrainOptions, Kept } from "../leftovers.ts";
import { readRemains, type Remains } from "./remains.ts";

/** Between two looks at the connections. */
const lookMs = 1_000;

/** Returns what still has connections at the deadline; chains and sets are for whoever removes the rest. */
export async function drain(kernel: Kernel, options: DrainOptions): Promise<readonly Kept[]> {
  const { clock, deadlineMs, excluded, onProgress, signal } = options;
  for (;;) {
    signal.throwIfAborted();
    const remains = readRemains(kernel, excluded);
    await removeIdle(kernel, remains, signal);
    const busy = remains.families.flatMap(({ servers }) => servers).filter(isBusy);
    if (busy.length === 0) return [];
    const connections = busy.reduce((sum, entry) => sum + activeOf(entry), 0);
    const left = deadlineMs - clock.monotonic();
    onProgress({ connections, servers: busy.length, leftMs: Math.max(0, left) });
    if (left <= 0) return busy.map(keptOf);
    await clock.sleep(Math.min(lookMs, left), signal);
  }
}

/** Addresses first: with its server alone, the last packets of a connection would find a closed port. */
async function removeIdle(kernel: Kernel, remains: Remains, signal: AbortSignal): Promise<void> {
  const busyAddresses = new Set<string>();
  const idle: IpvsEntry[] = [];
  for (const { servers } of remains.families) {
    for (const entry of servers) {
      if (isBusy(entry)) busyAddresses.add(entry.server.address);
      else idle.push(entry);
    }
  }
  const addresses = addressChanges(remains, busyAddresses);
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

/** Established connections. Those of UDP are never counted as such. */
function activeOf({ destinations }: IpvsEntry): number {
  return destinations.reduce((sum, { activeConnections }) => sum + activeConnections, 0);
}

function isBusy(entry: IpvsEntry): boolean {
  return activeOf(entry) > 0;
}

function isEmpty({ destinations }: IpvsEntry): boolean {
  return destinations.length === 0;
}

function keptOf(entry: IpvsEntry): Kept {
  const count = activeOf(entry);
  return {
    what: `virtual server ${frontendText(entry.server)}`,
    reason: `${count} ${count === 1 ? "connection is" : "connections are"} established; ` +
      "drain again, or give --cut-at-deadline to cut what is left",
  };
}
