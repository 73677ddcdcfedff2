/**
 * Interfaces, addresses and routes on the wire (`linux/rtnetlink.h`). Integers are in host order.
 *
 *     struct ifinfomsg { u8 family, pad; u16 type; s32 index; u32 flags, change; }
 *     struct ifaddrmsg { u8 family, prefixlen, flags, scope; u32 index; }
 *     struct rtmsg     { u8 family, dst_len, src_len, tos, table, protocol, scope, type; u32 flags; }
 *     struct fib_rule_hdr { u8 family, dst_len, src_len, tos, table, res1, res2, action; u32 flags; }
 */
import { cidrOf, formatIp } from "../../base/ip.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import { readAttributes, readString, readU32 } from "../netlink/attributes.ts";
import type { NetlinkMessage } from "../netlink/messages.ts";
import type { MessageWriter } from "../netlink/writer.ts";
import type {
  AddressChange,
  AddressScope,
  InterfaceAddress,
  Link,
  Route,
  RoutingRule,
} from "./links.ts";

/** Message types. */
export const RouteMessage = {
  newLink: 16,
  deleteLink: 17,
  getLink: 18,
  newAddress: 20,
  deleteAddress: 21,
  getAddress: 22,
  newRoute: 24,
  deleteRoute: 25,
  getRoute: 26,
  getRule: 34,
} as const;
/** Multicast groups of address changes. */
export const AddressGroup: Readonly<Record<IpFamily, number>> = { IPv4: 5, IPv6: 9 };

const AF_INET = 2;
const AF_INET6 = 10;
const IFINFO_BYTES = 16;
const IFADDR_BYTES = 8;
const ROUTE_BYTES = 12;
const IFF_UP = 1;
const LinkAttribute = { name: 3, linkInfo: 18, infoKind: 1 } as const;
/** Attributes of an address. */
export const AddressAttribute = { address: 1, local: 2 } as const;
/** Attributes of a route. */
export const RouteAttribute = {
  destination: 1,
  linkIndex: 4,
  gateway: 5,
  source: 7,
  table: 15,
} as const;
/** Who made a route: the kernel, and we. The number is nobody else's. */
export const RouteProtocol = { kernel: 2, ours: 171 } as const;
const LOCAL_TABLE = 255;
const HOST_SCOPE = 254;
const RTN_LOCAL = 2;
const RuleAttribute = {
  destination: 1,
  source: 2,
  inInterface: 3,
  priority: 6,
  table: 15,
  outInterface: 17,
} as const;
const RTM_F_CLONED = 0x200;

/** The header for listing links. */
export function linkHeader(): Uint8Array {
  return new Uint8Array(IFINFO_BYTES);
}

/** The header for deleting the link with this index. */
export function linkIndexHeader(index: number): Uint8Array {
  const header = linkHeader();
  new DataView(header.buffer).setInt32(4, index, true);
  return header;
}

/** The attributes of a new link of some kind. */
export function writeNewLink(
  writer: MessageWriter,
  { kind, name }: { readonly name: string; readonly kind: string },
): void {
  writer.string(LinkAttribute.name, name);
  const info = writer.beginNested(LinkAttribute.linkInfo);
  writer.string(LinkAttribute.infoKind, kind);
  writer.endNested(info);
}

/** The header for adding or deleting an address of so many bytes. Its scope follows from the address. */
export function addressChangeHeader(
  { linkIndex, prefixLength }: AddressChange,
  bytes: number,
): Uint8Array {
  const header = addressHeader(bytes === 4 ? "IPv4" : "IPv6");
  header[1] = prefixLength;
  new DataView(header.buffer).setUint32(4, linkIndex, true);
  return header;
}

/** The header for listing addresses of a family, or of all. */
export function addressHeader(family: IpFamily | undefined): Uint8Array {
  const header = new Uint8Array(IFADDR_BYTES);
  header[0] = familyNumber(family);
  return header;
}

/** The header for listing routes, or the rules that choose among their tables, of a family, or of all. */
export function routeHeader(family: IpFamily | undefined): Uint8Array<ArrayBuffer> {
  const header = new Uint8Array(ROUTE_BYTES);
  header[0] = familyNumber(family);
  return header;
}

/** The header of a route by which this machine takes what comes for one address. */
export function localRouteHeader(bytes: number, protocol: number): Uint8Array {
  const family = bytes === 4 ? "IPv4" : "IPv6";
  const header = routeHeader(family);
  header.set([bytes * 8, 0, 0, LOCAL_TABLE, protocol], 1);
  // IPv6 knows no scopes of routes.
  header[6] = family === "IPv4" ? HOST_SCOPE : 0;
  header[7] = RTN_LOCAL;
  return header;
}

/** Reads an RTM_NEWLINK. */
export function readLink({ payload }: NetlinkMessage): Link {
  const attributes = readAttributes(payload.subarray(IFINFO_BYTES));
  const name = attributes.get(LinkAttribute.name);
  const info = attributes.get(LinkAttribute.linkInfo);
  const kind = info && readAttributes(info).get(LinkAttribute.infoKind);
  return {
    index: readU32(payload.subarray(4)),
    name: name ? readString(name) : "",
    kind: kind ? readString(kind) : "",
    up: (readU32(payload.subarray(8)) & IFF_UP) !== 0,
  };
}

/** Reads an RTM_NEWADDR; undefined for other families than IP. */
export function readAddress(
  { payload }: NetlinkMessage,
): Omit<InterfaceAddress, "linkName"> | undefined {
  const family = readFamily(payload[0]);
  const attributes = readAttributes(payload.subarray(IFADDR_BYTES));
  // On a point-to-point link IFA_ADDRESS is the other end; IFA_LOCAL is ours where it is given.
  const bytes = attributes.get(AddressAttribute.local) ?? attributes.get(AddressAttribute.address);
  if (!family || !bytes) return undefined;
  return {
    family,
    ip: formatIp(bytes),
    prefixLength: payload[1],
    scope: readScope(payload[3]),
    linkIndex: readU32(payload.subarray(4)),
  };
}

/** Reads an RTM_NEWROUTE; undefined for other families and for cached copies. */
export function readRoute({ payload }: NetlinkMessage): Route | undefined {
  const family = readFamily(payload[0]);
  if (!family || (readU32(payload.subarray(8)) & RTM_F_CLONED) !== 0) return undefined;
  const attributes = readAttributes(payload.subarray(ROUTE_BYTES));
  const gateway = attributes.get(RouteAttribute.gateway);
  const link = attributes.get(RouteAttribute.linkIndex);
  const table = attributes.get(RouteAttribute.table);
  const source = attributes.get(RouteAttribute.source);
  const destination = attributes.get(RouteAttribute.destination) ??
    new Uint8Array(family === "IPv4" ? 4 : 16);
  return {
    family,
    destination: cidrOf(destination, payload[1]).text,
    gateway: gateway && formatIp(gateway),
    linkIndex: link ? readU32(link) : 0,
    // The header's byte is too small for tables above 255.
    table: table ? readU32(table) : payload[4],
    source: source && formatIp(source),
  };
}

/** Reads an RTM_NEWRULE; undefined for other families. */
export function readRoutingRule({ payload }: NetlinkMessage): RoutingRule | undefined {
  const family = readFamily(payload[0]);
  if (!family) return undefined;
  const attributes = readAttributes(payload.subarray(ROUTE_BYTES));
  const cidr = (attribute: number, length: number) => {
    const address = attributes.get(attribute);
    return address && cidrOf(address, length).text;
  };
  const number = (attribute: number) => {
    const value = attributes.get(attribute);
    return value && readU32(value);
  };
  const name = (attribute: number) => {
    const value = attributes.get(attribute);
    return value ? readString(value) : "";
  };
  return {
    family,
    priority: number(RuleAttribute.priority) ?? 0,
    from: cidr(RuleAttribute.source, payload[2]),
    to: cidr(RuleAttribute.destination, payload[1]),
    inInterface: name(RuleAttribute.inInterface),
    outInterface: name(RuleAttribute.outInterface),
    table: number(RuleAttribute.table) ?? payload[4],
  };
}

function familyNumber(family: IpFamily | undefined): number {
  if (family === undefined) return 0;
  return family === "IPv4" ? AF_INET : AF_INET6;
}

function readFamily(number: number): IpFamily | undefined {
  if (number === AF_INET) return "IPv4";
  return number === AF_INET6 ? "IPv6" : undefined;
}

/** Scopes between the named ones are the user's own; what is not global reaches less far. */
function readScope(number: number): AddressScope {
  if (number < 200) return "global";
  if (number < 253) return "site";
  return number === 253 ? "link" : "host";
}
