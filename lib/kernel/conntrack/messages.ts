/**
 * Entries of the connection table on the wire (`linux/netfilter/nfnetlink_conntrack.h`):
 * nfgenmsg { u8 family, u8 version 0, u16be resource }, then attributes, all integers in network order.
 *
 *     CTA_TUPLE_ORIG { CTA_TUPLE_IP { CTA_IP_V4_SRC 4 B, CTA_IP_V4_DST 4 B },
 *                      CTA_TUPLE_PROTO { CTA_PROTO_NUM u8, CTA_PROTO_SRC_PORT u16, CTA_PROTO_DST_PORT u16 } }
 */
import { formatIp, parseIp } from "../../base/ip.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import { forEachAttribute, readU16be, readU32be, readU8 } from "../netlink/attributes.ts";
import type { NetlinkMessage } from "../netlink/messages.ts";
import type { MessageWriter } from "../netlink/writer.ts";
import type { Flow, FlowFilter, FlowTuple } from "./conntrack.ts";

const NFNL_SUBSYS_CTNETLINK = 1 << 8;

/** Message types of nfnetlink's conntrack subsystem. */
export const ConntrackMessage = {
  create: NFNL_SUBSYS_CTNETLINK | 0,
  get: NFNL_SUBSYS_CTNETLINK | 1,
  delete: NFNL_SUBSYS_CTNETLINK | 2,
} as const;

const Attribute = { tupleOriginal: 1, tupleReply: 2, id: 12, zone: 18, filter: 25 } as const;
const Tuple = { ip: 1, protocol: 2 } as const;
const Ip = { v4Source: 1, v4Destination: 2, v6Source: 3, v6Destination: 4 } as const;
const Proto = { number: 1, sourcePort: 2, destinationPort: 3 } as const;
/** Bits of CTA_FILTER_ORIG_FLAGS, from the kernel's nf_internals.h: which fields count. */
const FilterFlag = { destination: 1 << 1, protocol: 1 << 3, destinationPort: 1 << 5 } as const;
const FilterAttribute = { originalFlags: 1, replyFlags: 2 } as const;
/** AF_INET and AF_INET6. */
const familyNumbers: Readonly<Record<IpFamily, number>> = { IPv4: 2, IPv6: 10 };
const GENMSG_BYTES = 4;

/** The header behind nlmsghdr. */
export function conntrackHeader(family: IpFamily): Uint8Array {
  return Uint8Array.of(familyNumbers[family], 0, 0, 0);
}

/**
 * Whether the kernel can be asked for exactly this. Up to 6.18 at least it compares IPv6 addresses the
 * wrong way round (`!ipv6_addr_cmp` in ctnetlink_filter_match_tuple): a filter by one selects every
 * entry but those that were meant. So it is never given one.
 */
function isExactInKernel(filter: FlowFilter): boolean {
  return filter.family === "IPv4" || filter.destination === undefined;
}

/** Writes a filter for DUMP; one that is not exact in the kernel selects more, never less. */
export function writeFilter(writer: MessageWriter, filter: FlowFilter): void {
  let flags: number = FilterFlag.protocol;
  const tuple = writer.beginNested(Attribute.tupleOriginal);
  if (filter.destination !== undefined && isExactInKernel(filter)) {
    flags |= FilterFlag.destination;
    const ip = writer.beginNested(Tuple.ip);
    writer.raw(Ip.v4Destination, addressBytes(filter.destination));
    writer.endNested(ip);
  }
  const protocol = writer.beginNested(Tuple.protocol);
  writer.u8(Proto.number, filter.protocol);
  if (filter.destinationPort !== undefined) {
    flags |= FilterFlag.destinationPort;
    writer.u16be(Proto.destinationPort, filter.destinationPort);
  }
  writer.endNested(protocol);
  writer.endNested(tuple);
  const nested = writer.beginNested(Attribute.filter);
  // The one pair of integers here that is in host order.
  writer.u32(FilterAttribute.originalFlags, flags);
  writer.u32(FilterAttribute.replyFlags, 0);
  writer.endNested(nested);
}

/** Writes what names exactly this entry. */
export function writeFlowIdentity(writer: MessageWriter, flow: Flow): void {
  writeTuple(writer, Attribute.tupleOriginal, flow);
  if (flow.zone !== 0) writer.u16be(Attribute.zone, flow.zone);
  writer.u32be(Attribute.id, flow.id);
}

/** Reads an entry of a dump; undefined for one without the parts that every entry has. */
export function readFlow(message: NetlinkMessage): Flow | undefined {
  const family = message.payload[0] === familyNumbers.IPv4 ? "IPv4" : "IPv6";
  let original: ReadTuple | undefined;
  let reply: ReadTuple | undefined;
  let id = 0;
  let zone = 0;
  forEachAttribute(message.payload.subarray(GENMSG_BYTES), (type, value) => {
    if (type === Attribute.tupleOriginal) original = readTuple(value);
    else if (type === Attribute.tupleReply) reply = readTuple(value);
    else if (type === Attribute.id) id = readU32be(value);
    else if (type === Attribute.zone) zone = readU16be(value);
  });
  if (!original || !reply) return undefined;
  return {
    family,
    protocol: original.protocol,
    original: original.tuple,
    reply: reply.tuple,
    id,
    zone,
  };
}

function writeTuple(writer: MessageWriter, type: number, flow: Flow): void {
  const { destination, destinationPort, source, sourcePort } = flow.original;
  const isV4 = flow.family === "IPv4";
  const tuple = writer.beginNested(type);
  const ip = writer.beginNested(Tuple.ip);
  writer.raw(isV4 ? Ip.v4Source : Ip.v6Source, addressBytes(source));
  writer.raw(isV4 ? Ip.v4Destination : Ip.v6Destination, addressBytes(destination));
  writer.endNested(ip);
  const protocol = writer.beginNested(Tuple.protocol);
  writer.u8(Proto.number, flow.protocol);
  writer.u16be(Proto.sourcePort, sourcePort);
  writer.u16be(Proto.destinationPort, destinationPort);
  writer.endNested(protocol);
  writer.endNested(tuple);
}

interface ReadTuple {
  readonly protocol: number;
  readonly tuple: FlowTuple;
}

function readTuple(bytes: Uint8Array): ReadTuple {
  let source = "";
  let destination = "";
  let protocol = 0;
  let sourcePort = 0;
  let destinationPort = 0;
  forEachAttribute(bytes, (outer, nested) => {
    forEachAttribute(nested, (type, value) => {
      if (outer === Tuple.ip) {
        if (type === Ip.v4Source || type === Ip.v6Source) source = formatIp(value);
        else if (type === Ip.v4Destination || type === Ip.v6Destination) {
          destination = formatIp(value);
        }
      } else if (outer === Tuple.protocol) {
        if (type === Proto.number) protocol = readU8(value);
        else if (type === Proto.sourcePort) sourcePort = readU16be(value);
        else if (type === Proto.destinationPort) destinationPort = readU16be(value);
      }
    });
  });
  return { protocol, tuple: { source, destination, sourcePort, destinationPort } };
}

function addressBytes(address: string): Uint8Array {
  const bytes = parseIp(address);
  if (!bytes) throw new TypeError(`Cannot use "${address}" in a conntrack request: no IP address`);
  return bytes;
}
