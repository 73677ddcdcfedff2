/**
 * The first packet of a new connection that comes in from another machine, as the rules of a packet filter
 * see it. What differs from packet to packet is not known: source port, lengths, lifetime.
 */
import { parseIp } from "../../base/ip.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import { Ct, CtState, FibKey, Meta, RouteType } from "../../kernel/firewall/packet_keys.ts";
import { certain, type KnownBits, uncertain } from "./known_bits.ts";

/** Where a packet comes from, and where it wants to go. */
export interface OutsidePacket {
  readonly family: IpFamily;
  /** Canonical text. */
  readonly source: string;
  /** An address of this machine. */
  readonly destination: string;
  readonly protocol: "tcp" | "udp" | "sctp";
  readonly destinationPort: number;
  /** By which it comes in. */
  readonly inInterface: string;
}

const protocols = { tcp: 6, udp: 17, sctp: 132 } as const;
const headerBytes = { tcp: 20, udp: 8, sctp: 12 } as const;
const SYN = 0x02;
const PACKET_HOST = 0;
/** Bits of `ct status` that a new connection cannot have: expected, answered, assured, confirmed, translated. */
const STATUS_BITS = 0x3f;

/** The packet as the kernel's expressions load it. What it gives is shared: nobody writes into it. */
export class PacketView {
  readonly #packet: OutsidePacket;
  readonly #network: KnownBits;
  readonly #transport: KnownBits;
  /** Thousands of rules ask for the same few. */
  readonly #parts = new Map<number, KnownBits | undefined>();
  readonly #metas = new Map<number, KnownBits>();

  constructor(packet: OutsidePacket) {
    this.#packet = packet;
    this.#network = networkHeader(packet);
    this.#transport = transportHeader(packet);
  }

  /** Part of a header; undefined where the packet ends before, so that the rule does not match. */
  payload(base: "network" | "transport", offset: number, length: number): KnownBits | undefined {
    const key = (offset * 8_192 + length) * 2 + (base === "network" ? 0 : 1);
    const known = this.#parts.get(key);
    if (known || this.#parts.has(key)) return known;
    const part = this.#part(base, offset, length);
    this.#parts.set(key, part);
    return part;
  }

  #part(base: "network" | "transport", offset: number, length: number): KnownBits | undefined {
    const header = base === "network" ? this.#network : this.#transport;
    // Behind the IP header comes the other one, and behind that what we know nothing of.
    if (offset + length > header.bytes.length) {
      return base === "network" ? uncertain(length) : undefined;
    }
    return {
      bytes: header.bytes.slice(offset, offset + length),
      known: header.known.slice(offset, offset + length),
    };
  }

  /** What the kernel knows of the packet, but for its mark. */
  meta(key: number): KnownBits {
    const known = this.#metas.get(key);
    if (known) return known;
    const value = this.#meta(key);
    this.#metas.set(key, value);
    return value;
  }

  #meta(key: number): KnownBits {
    const { family, inInterface, protocol } = this.#packet;
    switch (key) {
      case Meta.protocol:
        return certain(family === "IPv4" ? Uint8Array.of(8, 0) : Uint8Array.of(0x86, 0xdd));
      case Meta.nfproto:
        return certain(Uint8Array.of(family === "IPv4" ? 2 : 10));
      case Meta.l4proto:
        return certain(Uint8Array.of(protocols[protocol]));
      case Meta.pkttype:
        return certain(Uint8Array.of(PACKET_HOST));
      case Meta.iifname: {
        const name = new Uint8Array(16);
        new TextEncoder().encodeInto(inInterface.slice(0, 15), name);
        return certain(name);
      }
      default:
        return uncertain(16);
    }
  }

  /** What is known of its connection. */
  ct(key: number): KnownBits {
    const { destinationPort, family, protocol } = this.#packet;
    switch (key) {
      case Ct.state:
        return certain(hostNumber(CtState.new));
      case Ct.direction:
        return certain(Uint8Array.of(0));
      case Ct.status:
        return { bytes: new Uint8Array(4), known: hostNumber(STATUS_BITS) };
      case Ct.mark:
        return uncertain(4);
      case Ct.l3protocol:
        return certain(Uint8Array.of(family === "IPv4" ? 2 : 10));
      case Ct.protocol:
        return certain(Uint8Array.of(protocols[protocol]));
      case Ct.protoDst:
        return certain(Uint8Array.of(destinationPort >> 8, destinationPort & 0xff));
      default:
        return uncertain(16);
    }
  }

  /** What the routing tables say of its addresses. */
  fib(result: number, flags: number): KnownBits {
    if (result !== FibKey.addressType) return uncertain(16);
    // Nothing is asked about an interface or a mark.
    if (flags === FibKey.daddr) return certain(hostNumber(RouteType.local));
    if (flags === FibKey.saddr) return certain(hostNumber(RouteType.unicast));
    return uncertain(4);
  }
}

/** A number as this machine keeps it in a register: little-endian. */
export function hostNumber(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value, true);
  return bytes;
}

function networkHeader({ destination, family, protocol, source }: OutsidePacket): KnownBits {
  const header = uncertain(family === "IPv4" ? 20 : 40);
  const set = (at: number, ...bytes: number[]) => {
    header.bytes.set(bytes, at);
    header.known.fill(0xff, at, at + bytes.length);
  };
  const [from, to] = [parseIp(source), parseIp(destination)];
  if (!from || !to) {
    throw new TypeError(`Cannot judge a packet from "${source}" to "${destination}"`);
  }
  if (family === "IPv4") {
    set(0, 0x45);
    // No part of a fragmented packet; whether it may be fragmented is not known.
    set(6, 0, 0);
    header.known[6] = 0xbf;
    set(9, protocols[protocol]);
    set(12, ...from);
    set(16, ...to);
  } else {
    set(6, protocols[protocol]);
    set(8, ...from);
    set(24, ...to);
    header.bytes[0] = 0x60;
    header.known[0] = 0xf0;
  }
  return header;
}

function transportHeader({ destinationPort, protocol }: OutsidePacket): KnownBits {
  const header = uncertain(headerBytes[protocol]);
  header.bytes.set([destinationPort >> 8, destinationPort & 0xff], 2);
  header.known.fill(0xff, 2, 4);
  if (protocol === "tcp") {
    header.bytes[13] = SYN;
    // The two bits of congestion notification may be set as well.
    header.known[13] = 0x3f;
  }
  return header;
}
