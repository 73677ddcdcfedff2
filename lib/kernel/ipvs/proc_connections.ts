/**
 * `/proc/net/ip_vs_conn`: every connection that the kernel remembers, open or not. It comes in pieces, each of
 * which begins at so many connections from the start: where others end meanwhile, one that is open may be missed.
 *
 *     Pro FromIP   FPrt ToIP     TPrt DestIP   DPrt State       Expires PEName PEData
 *     TCP C0A80A02 9886 0A600001 0050 0A800003 1F90 ESTABLISHED     899
 *     TCP fd00:0192:…:0002 9886 fd00:0010:…:000a 0050 fd00:0010:…:0003 1F90 SYN_SENT         59
 */
import { protocols, readEndpoint } from "./proc_table.ts";
import { frontendText } from "./text.ts";

/** A handshake that IPVS began ends there as well. */
const openStates: ReadonlySet<string> = new Set(["ESTABLISHED", "SYN_RECV"]);

/** So many readings must find none of a server: no two of them miss the same ones. */
const believed = 3;

/**
 * How many are open of each server, by its text, at least of those that are asked for. Throws `SyntaxError`
 * for an open one that is not understood.
 */
export function countOpenConnections(
  readText: () => string,
  servers: readonly string[],
): ReadonlyMap<string, number> {
  const most = new Map<string, number>();
  const isWhole = () => servers.every((server) => most.has(server));
  for (let reading = 0; reading < believed && !isWhole(); reading++) {
    for (const [server, count] of countIn(readText())) {
      most.set(server, Math.max(count, most.get(server) ?? 0));
    }
  }
  return most;
}

function countIn(text: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const line of text.split("\n")) {
    const [name, , , address = "", port = "", , , state = ""] = line.split(/ +/, 8);
    if (!openStates.has(state)) continue;
    const protocol = protocols[name];
    const at = address.includes(":") ? `[${address}]` : address;
    const endpoint = readEndpoint(`${at}:${port}`);
    if (!protocol || !endpoint) {
      throw new SyntaxError(
        `Cannot read /proc/net/ip_vs_conn: "${line.slice(0, 120)}" is not understood`,
      );
    }
    const family = endpoint.address.includes(":") ? "IPv6" : "IPv4";
    const server = frontendText({ family, protocol, ...endpoint });
    counts.set(server, (counts.get(server) ?? 0) + 1);
  }
  return counts;
}
