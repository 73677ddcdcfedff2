/**
 * `/proc/net/ip_vs`: everything at once, where netlink wants a question for each server. It tells
 * neither all flags of a server nor its timeout in seconds; those are in the netlink dump of servers.
 *
 *     IP Virtual Server version 1.2.1 (size=4096)
 *     Prot LocalAddress:Port Scheduler Flags
 *       -> RemoteAddress:Port Forward Weight ActiveConn InActConn
 *     TCP  0A600001:0050 rr persistent 2700000 FFFFFFFF
 *       -> 0A800005:1F90      Masq    1      3          0
 */
import { formatIp, parseIp } from "../../base/ip.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import type { IpvsDestinationState, IpvsForwarding, IpvsFrontend, IpvsProtocol } from "./ipvs.ts";

/** What stands there of one server. */
export interface ProcServer {
  readonly frontend: IpvsFrontend;
  readonly destinations: readonly IpvsDestinationState[];
}

/** As `/proc` spells them. */
export const protocols: Readonly<Record<string, IpvsProtocol>> = {
  TCP: "tcp",
  UDP: "udp",
  SCTP: "sctp",
};
const forwardings: Readonly<Record<string, IpvsForwarding>> = {
  Masq: "masquerade",
  Local: "local",
  Tunnel: "tunnel",
  Route: "route",
  Bypass: "bypass",
};

/** The version in the first line. */
export function versionOfTable(text: string): string | undefined {
  return /^IP Virtual Server version (\S+)/.exec(text)?.[1];
}

/** The schedulers of the servers in the beginning of a table. */
export function schedulersIn(head: string): ReadonlySet<string> {
  const servers = head.matchAll(/^(?:TCP|UDP|SCTP) +\S+ (\S+) /gm);
  return new Set([...servers].map(([, scheduler]) => scheduler));
}

/**
 * The servers in their order, or those of one family; those by firewall mark are left out. Throws
 * `SyntaxError` for anything else.
 */
export function readTable(text: string, only?: IpFamily): readonly ProcServer[] {
  if (versionOfTable(text) === undefined) throw unreadable(text.split("\n", 1)[0]);
  const servers: ProcServer[] = [];
  let destinations: IpvsDestinationState[] | undefined;
  for (const line of text.split("\n").slice(3)) {
    if (line === "") continue;
    if (line.startsWith("  -> ")) {
      destinations?.push(readDestination(line));
      continue;
    }
    if (only !== undefined && isOfOther(line, only)) {
      destinations = undefined;
      continue;
    }
    destinations = [];
    const frontend = readFrontend(line);
    if (frontend) servers.push({ frontend, destinations });
  }
  return servers;
}

/** Addresses of IPv6 alone stand in brackets. */
function isOfOther(line: string, family: IpFamily): boolean {
  return line.includes(" [") !== (family === "IPv6");
}

/** Undefined for a server by firewall mark. */
function readFrontend(line: string): IpvsFrontend | undefined {
  const [name, place = ""] = line.split(/ +/, 2);
  if (name === "FWM") return undefined;
  const protocol = protocols[name];
  const endpoint = readEndpoint(place);
  if (!protocol || !endpoint) throw unreadable(line);
  return { family: endpoint.address.includes(":") ? "IPv6" : "IPv4", protocol, ...endpoint };
}

function readDestination(line: string): IpvsDestinationState {
  const [place, method, ...numbers] = line.slice(5).trimEnd().split(/ +/);
  const endpoint = readEndpoint(place);
  const forwarding = forwardings[method];
  const isWhole = numbers.length >= 3 && numbers.every((word) => /^-?\d+$/.test(word));
  if (!endpoint || !forwarding || !isWhole) throw unreadable(line);
  const [weight, activeConnections, inactiveConnections] = numbers.map(Number);
  return { ...endpoint, forwarding, weight, activeConnections, inactiveConnections };
}

/** `0A600001:0050`, `[fd00:0000:…:0001]:0050`; undefined for anything else. */
export function readEndpoint(text: string): { address: string; port: number } | undefined {
  const [, hex, v6, port] = /^(?:([0-9A-F]{8})|\[([0-9a-f:.]+)\]):([0-9A-F]{4})$/.exec(text) ?? [];
  const bytes = hex === undefined ? parseIp(v6 ?? "") : Uint8Array.fromHex(hex);
  return bytes && port !== undefined
    ? { address: formatIp(bytes), port: parseInt(port, 16) }
    : undefined;
}

function unreadable(line: string): SyntaxError {
  return new SyntaxError(`Cannot read /proc/net/ip_vs: "${line.slice(0, 80)}" is not understood`);
}
