/**
 * The first packet of a connection, with checksums that the kernel's connection tracking accepts: a SYN,
 * a datagram of four bytes, or an INIT.
 */
import { familyOfBytes } from "../../base/ip.ts";
import { type Protocol, protocolNumbers } from "../../base/protocol.ts";
import { crc32c, internetChecksum } from "./checksums.ts";

/** From where to where. The addresses are of one family. */
export interface PacketOptions {
  readonly protocol: Protocol;
  readonly source: Uint8Array;
  readonly destination: Uint8Array;
  readonly sourcePort: number;
  readonly destinationPort: number;
  /** 32 bits by which the packet is known again, whatever becomes of its addresses and ports. */
  readonly id: number;
}

const HOPS = 64;

/** A whole IP packet. */
export function buildPacket(options: PacketOptions): Uint8Array<ArrayBuffer> {
  const transport = transportOf(options);
  const header = familyOfBytes(options.source) === "IPv4"
    ? ipv4Header(options, transport.length)
    : ipv6Header(options, transport.length);
  const packet = new Uint8Array(header.length + transport.length);
  packet.set(header);
  packet.set(transport, header.length);
  return packet;
}

function ipv4Header(
  { destination, protocol, source }: PacketOptions,
  payload: number,
): Uint8Array {
  const view = new DataView(new ArrayBuffer(20));
  view.setUint8(0, 0x45);
  view.setUint16(2, 20 + payload);
  view.setUint8(8, HOPS);
  view.setUint8(9, protocolNumbers[protocol]);
  const bytes = new Uint8Array(view.buffer);
  bytes.set(source, 12);
  bytes.set(destination, 16);
  view.setUint16(10, internetChecksum(bytes));
  return bytes;
}

function ipv6Header(
  { destination, protocol, source }: PacketOptions,
  payload: number,
): Uint8Array {
  const view = new DataView(new ArrayBuffer(40));
  view.setUint8(0, 0x60);
  view.setUint16(4, payload);
  view.setUint8(6, protocolNumbers[protocol]);
  view.setUint8(7, HOPS);
  const bytes = new Uint8Array(view.buffer);
  bytes.set(source, 8);
  bytes.set(destination, 24);
  return bytes;
}

function transportOf(options: PacketOptions): Uint8Array {
  switch (options.protocol) {
    case "TCP":
      return withPseudoHeader(tcp(options), options, 16);
    case "UDP":
      return withPseudoHeader(udp(options), options, 6);
    case "SCTP":
      return sctp(options);
  }
}

function tcp({ destinationPort, id, sourcePort }: PacketOptions): DataView<ArrayBuffer> {
  const view = ports(20, sourcePort, destinationPort);
  view.setUint32(4, id);
  view.setUint8(12, 5 << 4);
  view.setUint8(13, TcpFlag.syn);
  view.setUint16(14, 0xffff);
  return view;
}

function udp({ destinationPort, id, sourcePort }: PacketOptions): DataView<ArrayBuffer> {
  const view = ports(12, sourcePort, destinationPort);
  view.setUint16(4, 12);
  view.setUint32(8, id);
  return view;
}

/** A common header and one INIT chunk with one stream each way. */
function sctp({ destinationPort, id, sourcePort }: PacketOptions): Uint8Array {
  const view = ports(32, sourcePort, destinationPort);
  view.setUint8(12, 1);
  view.setUint16(14, 20);
  view.setUint32(16, id);
  view.setUint32(20, 0xffff);
  view.setUint16(24, 1);
  view.setUint16(26, 1);
  view.setUint32(28, id);
  const bytes = new Uint8Array(view.buffer);
  view.setUint32(8, crc32c(bytes), true);
  return bytes;
}

function ports(size: number, sourcePort: number, destinationPort: number): DataView<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(size));
  view.setUint16(0, sourcePort);
  view.setUint16(2, destinationPort);
  return view;
}

/** The checksum of TCP and UDP counts addresses, protocol and length as well. */
function withPseudoHeader(
  view: DataView<ArrayBuffer>,
  { destination, protocol, source }: PacketOptions,
  at: number,
): Uint8Array {
  const bytes = new Uint8Array(view.buffer);
  const summed = new Uint8Array(source.length * 2 + 4 + bytes.length);
  summed.set(source);
  summed.set(destination, source.length);
  const rest = new DataView(summed.buffer, source.length * 2);
  rest.setUint8(1, protocolNumbers[protocol]);
  rest.setUint16(2, bytes.length);
  summed.set(bytes, source.length * 2 + 4);
  // For UDP zero means "none".
  view.setUint16(at, internetChecksum(summed) || 0xffff);
  return bytes;
}

/** Bits of the flags of TCP. */
export const TcpFlag = { syn: 0x02, rst: 0x04 } as const;
