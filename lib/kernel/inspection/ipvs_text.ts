/**
 * IPVS as it shows itself below /proc/net. Netlink would tell more, but asking loads the module.
 * ```
 * IP Virtual Server version 1.2.1 (size=4096)
 * Prot LocalAddress:Port Scheduler Flags
 *   -> RemoteAddress:Port Forward Weight ActiveConn InActConn
 * TCP  0A600001:0050 rr persistent 10800 FFFFFFFF
 *   -> 0A800005:1F90      Masq    1      3          0
 *
 * Pro FromIP   FPrt ToIP     TPrt DestIP   DPrt State       Expires PEName PEData
 * TCP C0A80A02 A3D2 0A600001 0050 0A800005 1F90 ESTABLISHED     899
 * ```
 */
import { formatIp, parseIp } from "../../base/ip.ts";
import type { KernelFiles } from "../kernel_files.ts";

/** A virtual server. */
export interface VirtualServer {
  readonly protocol: "tcp" | "udp" | "sctp";
  /** Canonical text. */
  readonly address: string;
  readonly port: number;
  readonly scheduler: string;
  /** For how many seconds a client stays with its destination; 0: it does not. */
  readonly persistentSeconds: number;
  readonly destinations: number;
}

/** Connections of one virtual server. */
export interface ServerConnections {
  readonly protocol: "tcp" | "udp" | "sctp";
  readonly address: string;
  readonly port: number;
  readonly established: number;
  /** Of these, the one that was silent for longest is forgotten after so many seconds. */
  readonly soonestExpirySeconds: number;
}

/** Its state at one moment. */
export interface IpvsState {
  readonly servers: readonly VirtualServer[];
  /** Servers without an address: those of a firewall mark. */
  readonly markServers: number;
  /** Established ones, by server; UDP has none. */
  readonly connections: readonly ServerConnections[];
}

const protocols = { TCP: "tcp", UDP: "udp", SCTP: "sctp" } as const;

/** Undefined where IPVS is not loaded. Throws `SyntaxError` for garbage. */
export function readIpvsState(files: KernelFiles): IpvsState | undefined {
  const servers = files.readNet("ip_vs");
  if (servers === undefined) return undefined;
  return {
    ...readServers(servers),
    connections: readConnections(files.readNet("ip_vs_conn") ?? ""),
  };
}

function readServers(text: string): Pick<IpvsState, "servers" | "markServers"> {
  if (!text.startsWith("IP Virtual Server")) throw unreadable("ip_vs", text.split("\n", 1)[0]);
  const servers: (VirtualServer & { destinations: number })[] = [];
  let markServers = 0;
  let isMark = false;
  for (const line of text.split("\n").slice(3)) {
    if (line.startsWith("  -> ")) {
      const server = servers.at(-1);
      if (server && !isMark) server.destinations++;
      continue;
    }
    if (line === "") continue;
    isMark = line.startsWith("FWM");
    if (isMark) markServers++;
    else servers.push(readServer(line));
  }
  return { servers, markServers };
}

function readServer(line: string): VirtualServer & { destinations: number } {
  const [name, place = "", scheduler = "", , ...rest] = line.trim().split(/ +/);
  const protocol = protocolOf(name);
  const [, address, port] = /^\[?([0-9A-Fa-f:.]+?)\]?:([0-9A-F]{4})$/.exec(place) ?? [];
  const ip = addressOf(address ?? "");
  if (!protocol || ip === undefined) throw unreadable("ip_vs", line);
  const persistentSeconds = /\bpersistent\b/.test(line) ? Number(rest[0]) / 1000 || 1 : 0;
  return {
    protocol,
    address: ip,
    port: parseInt(port, 16),
    scheduler,
    persistentSeconds,
    destinations: 0,
  };
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** There may be a hundred thousand lines: those that are not established are passed over quickly. */
function readConnections(text: string): readonly ServerConnections[] {
  const byServer = new Map<string, Writable<ServerConnections>>();
  for (const line of text.split("\n")) {
    if (!line.includes(" ESTABLISHED ")) continue;
    const [name, , , to, port, , , , expires] = line.split(/ +/);
    const seconds = Number(expires);
    const key = `${name} ${to} ${port}`;
    const found = byServer.get(key);
    if (found) {
      found.established++;
      found.soonestExpirySeconds = Math.min(found.soonestExpirySeconds, seconds);
      continue;
    }
    const protocol = protocolOf(name);
    const address = addressOf(to);
    if (!protocol || address === undefined || !Number.isFinite(seconds)) {
      throw unreadable("ip_vs_conn", line);
    }
    byServer.set(key, {
      protocol,
      address,
      port: parseInt(port, 16),
      established: 1,
      soonestExpirySeconds: seconds,
    });
  }
  return [...byServer.values()];
}

function protocolOf(name: string): VirtualServer["protocol"] | undefined {
  return name === "TCP" || name === "UDP" || name === "SCTP" ? protocols[name] : undefined;
}

/** `0A600001`, or an IPv6 address in full. */
function addressOf(text: string): string | undefined {
  if (/^[0-9A-F]{8}$/.test(text)) return formatIp(Uint8Array.fromHex(text));
  const bytes = text.includes(":") ? parseIp(text) : undefined;
  return bytes && formatIp(bytes);
}

function unreadable(file: string, line: string): SyntaxError {
  return new SyntaxError(
    `Cannot read /proc/net/${file}: "${line.slice(0, 60)}" is not understood`,
  );
}
