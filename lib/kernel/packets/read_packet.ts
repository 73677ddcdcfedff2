/** What a packet that came out says: where it goes, or that another one was refused. */
import { formatIp } from "../../base/ip.ts";
import { type Protocol, protocolNumbers } from "../../base/protocol.ts";
import { TcpFlag } from "./build_packet.ts";

/** Addresses are canonical text. */
export type SeenPacket =
  /** A packet of a connection; `id` is the one that it was built with. */
  | {
    readonly kind: "forwarded";
    readonly protocol: Protocol;
    readonly source: string;
    readonly destination: string;
    readonly destinationPort: number;
    readonly id: number;
  }
  /** A TCP reset, or an ICMP error about a packet from this port. */
  | { readonly kind: "refused"; readonly protocol: Protocol; readonly clientPort: number };

const ICMP = { IPv4: 1, IPv6: 58 } as const;
const icmpUnreachable = { IPv4: 3, IPv6: 1 } as const;

interface Ip {
  readonly family: "IPv4" | "IPv6";
  readonly number: number;
  readonly source: Uint8Array;
  readonly destination: Uint8Array;
  readonly payload: Uint8Array;
}

/** Undefined for what is none of these: neighbours asking for each other, half a packet. */
export function readPacket(bytes: Uint8Array): SeenPacket | undefined {
  const ip = readIp(bytes);
  if (!ip) return undefined;
  if (ip.number === ICMP[ip.family]) return readRefusal(ip);
  const protocol = protocolOf(ip.number);
  const view = viewOf(ip.payload);
  const { id, isReset } = protocol ? idOf(protocol, view) : nothing;
  if (!protocol || id === undefined) return undefined;
  const destinationPort = view.getUint16(2);
  if (isReset) return { kind: "refused", protocol, clientPort: destinationPort };
  return {
    kind: "forwarded",
    protocol,
    source: formatIp(ip.source),
    destination: formatIp(ip.destination),
    destinationPort,
    id,
  };
}

const nothing = { id: undefined, isReset: false } as const;

function idOf(
  protocol: Protocol,
  view: DataView,
): { readonly id: number | undefined; readonly isReset: boolean } {
  const at = { TCP: 4, UDP: 8, SCTP: 16 }[protocol];
  if (view.byteLength < at + 4 || protocol === "TCP" && view.byteLength < 20) return nothing;
  const isReset = protocol === "TCP" && (view.getUint8(13) & TcpFlag.rst) !== 0;
  return { id: view.getUint32(at), isReset };
}

/** An ICMP error quotes what it is about behind 8 bytes: its ports at least. */
function readRefusal({ family, payload }: Ip): SeenPacket | undefined {
  if (payload[0] !== icmpUnreachable[family]) return undefined;
  const quoted = readIp(payload.subarray(8));
  const protocol = quoted && protocolOf(quoted.number);
  if (!protocol || quoted.payload.length < 4) return undefined;
  return { kind: "refused", protocol, clientPort: viewOf(quoted.payload).getUint16(0) };
}

/** Without fragments and extension headers, which none of our packets has. */
function readIp(bytes: Uint8Array): Ip | undefined {
  const version = bytes.length === 0 ? 0 : bytes[0] >> 4;
  const header = version === 4 ? (bytes[0] & 0xf) * 4 : 40;
  if (version !== 4 && version !== 6 || bytes.length < header) return undefined;
  const payload = bytes.subarray(header);
  return version === 4
    ? {
      family: "IPv4",
      number: bytes[9],
      source: bytes.subarray(12, 16),
      destination: bytes.subarray(16, 20),
      payload,
    }
    : {
      family: "IPv6",
      number: bytes[6],
      source: bytes.subarray(8, 24),
      destination: bytes.subarray(24, 40),
      payload,
    };
}

function protocolOf(number: number): Protocol | undefined {
  return protocols.find((each) => protocolNumbers[each] === number);
}

const protocols = ["TCP", "UDP", "SCTP"] as const;

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}
