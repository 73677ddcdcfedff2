/**
 * From where this machine's programs reach one of its own addresses: the source that the route to it
 * names. In IPv4 the kernel's route is replaced, and goes with its address. In IPv6 the kernel's has the
 * first place of all and cannot be replaced: it is deleted behind one of ours, which lies on the loopback
 * link, since the address's own may be down, and is deleted with the address.
 */
import { parseIp } from "../../base/ip.ts";
import { Errno } from "../errno.ts";
import { hasErrno } from "../netlink/errors.ts";
import { MessageFlag } from "../netlink/messages.ts";
import { type NetlinkRequest, transact } from "../netlink/request.ts";
import { sendSeries } from "../netlink/series.ts";
import { NetlinkProtocol, NetlinkSocket } from "../netlink/socket.ts";
import { refusedSource } from "./errors.ts";
import type { AddressFailure, PreferredSource, Route } from "./links.ts";
import { localRouteHeader, RouteAttribute, RouteMessage, RouteProtocol } from "./messages.ts";

/** In every network namespace. */
const LOOPBACK_INDEX = 1;

const ours = { linkIndex: LOOPBACK_INDEX, protocol: RouteProtocol.ours } as const;
const OP = "change routes to own addresses";

type Request = Omit<NetlinkRequest, "op">;

/** See `Links.preferSources`. */
export async function preferSources(
  sources: readonly PreferredSource[],
  signal: AbortSignal | undefined,
): Promise<readonly AddressFailure[]> {
  const made = await send(sources.map(newRoute), signal);
  const replaced = [...sources.entries()].filter(([index, { ip }]) => isV6(ip) && !made.has(index));
  const deleted = await send(
    replaced.map(([, { ip, linkIndex }]) =>
      deletion(ip, { linkIndex, protocol: RouteProtocol.kernel })
    ),
    signal,
  );
  const refused = [
    ...made,
    ...[...deleted].filter(([, { errno }]) => errno !== Errno.ESRCH)
      .map(([index, answer]) => [replaced[index][0], answer] as const),
  ];
  return refused.map(([change, answer]) => ({
    change,
    error: refusedSource(sources[change], answer),
  }));
}

/** Takes away what was preferred for these addresses, which are gone; for most there is nothing. */
export async function forgetSources(
  ips: readonly string[],
  signal: AbortSignal | undefined,
): Promise<void> {
  await send(ips.filter(isV6).map((ip) => deletion(ip, ours)), signal);
}

/** The same for routes to addresses that are gone, of which some are ours. */
export function forgetRoutes(routes: readonly Route[]): void {
  using socket = new NetlinkSocket({ protocol: NetlinkProtocol.route });
  for (const { destination, source } of routes) {
    if (source === undefined) continue;
    try {
      transact(socket, { op: OP, ...deletion(destination.replace("/128", ""), ours) });
    } catch (error) {
      // Somebody else's.
      if (!hasErrno(error, Errno.ESRCH)) throw error;
    }
  }
}

async function send(requests: readonly Request[], signal: AbortSignal | undefined) {
  if (requests.length === 0) return new Map<number, never>();
  using socket = new NetlinkSocket({ protocol: NetlinkProtocol.route });
  return await sendSeries(socket, {
    op: OP,
    count: requests.length,
    request: (index) => requests[index],
    signal,
  });
}

function newRoute({ ip, linkIndex, source }: PreferredSource): Request {
  const bytes = bytesOf(ip);
  const isV4 = bytes.length === 4;
  return {
    type: RouteMessage.newRoute,
    flags: MessageFlag.create | MessageFlag.replace,
    family: localRouteHeader(bytes.length, isV4 ? RouteProtocol.kernel : RouteProtocol.ours),
    attributes: (writer) => {
      writer.raw(RouteAttribute.destination, bytes);
      writer.u32(RouteAttribute.linkIndex, isV4 ? linkIndex : LOOPBACK_INDEX);
      writer.raw(RouteAttribute.source, bytesOf(source));
    },
  };
}

function deletion(
  ip: string,
  { linkIndex, protocol }: { readonly linkIndex: number; readonly protocol: number },
): Request {
  const bytes = bytesOf(ip);
  return {
    type: RouteMessage.deleteRoute,
    family: localRouteHeader(bytes.length, protocol),
    attributes: (writer) => {
      writer.raw(RouteAttribute.destination, bytes);
      writer.u32(RouteAttribute.linkIndex, linkIndex);
    },
  };
}

function isV6(ip: string): boolean {
  return ip.includes(":");
}

function bytesOf(ip: string): Uint8Array {
  const bytes = parseIp(ip);
  if (!bytes) throw new TypeError(`Cannot use "${ip}" as an address`);
  return bytes;
}
