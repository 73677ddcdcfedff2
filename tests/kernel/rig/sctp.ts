/**
 * The first half of an SCTP handshake as bytes, for kernels without SCTP sockets (nf_tables and
 * conntrack handle the protocol all the same). The server's INIT ACK carries the echo's greeting as
 * its state cookie; nobody goes further.
 *
 * ```
 * common header: source port 2, destination port 2, verification tag 4, CRC32c 4 (little endian)
 * INIT, INIT ACK: type 1, flags 1, length 2, initiate tag 4, window 4, streams 2 + 2, TSN 4, parameters
 * ```
 */
const CHUNK_INIT = 1;
const CHUNK_INIT_ACK = 2;
const PARAMETER_STATE_COOKIE = 7;

/** The parts of INIT and INIT ACK that matter here. */
export interface SctpPacket {
  readonly kind: "init" | "init-ack";
  readonly sourcePort: number;
  readonly destinationPort: number;
  /** 0 in an INIT; the peer's initiate tag in the answer. */
  readonly verificationTag: number;
  readonly initiateTag: number;
  /** Empty in an INIT. */
  readonly cookie: string;
}

export function encodeSctp(packet: SctpPacket): Uint8Array<ArrayBuffer> {
  const cookie = new TextEncoder().encode(packet.cookie);
  const parameterLength = cookie.length === 0 ? 0 : 4 + cookie.length;
  const bytes = new Uint8Array(12 + 20 + Math.ceil(parameterLength / 4) * 4);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, packet.sourcePort);
  view.setUint16(2, packet.destinationPort);
  view.setUint32(4, packet.verificationTag);
  view.setUint8(12, packet.kind === "init" ? CHUNK_INIT : CHUNK_INIT_ACK);
  view.setUint16(14, 20 + parameterLength);
  view.setUint32(16, packet.initiateTag);
  view.setUint32(20, 65536);
  view.setUint16(24, 1);
  view.setUint16(26, 1);
  view.setUint32(28, packet.initiateTag);
  if (cookie.length > 0) {
    view.setUint16(32, PARAMETER_STATE_COOKIE);
    view.setUint16(34, parameterLength);
    bytes.set(cookie, 36);
  }
  view.setUint32(8, crc32c(bytes), true);
  return bytes;
}

/** undefined for anything but an INIT or INIT ACK. `bytes` start at the SCTP header. */
export function decodeSctp(bytes: Uint8Array): SctpPacket | undefined {
  if (bytes.length < 32) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const type = view.getUint8(12);
  if (type !== CHUNK_INIT && type !== CHUNK_INIT_ACK) return undefined;
  const hasCookie = bytes.length >= 36 && view.getUint16(32) === PARAMETER_STATE_COOKIE;
  return {
    kind: type === CHUNK_INIT ? "init" : "init-ack",
    sourcePort: view.getUint16(0),
    destinationPort: view.getUint16(2),
    verificationTag: view.getUint32(4),
    initiateTag: view.getUint32(16),
    cookie: hasCookie ? new TextDecoder().decode(bytes.subarray(36, 32 + view.getUint16(34))) : "",
  };
}

/** Castagnoli's polynomial, reflected; conntrack drops SCTP packets whose checksum is wrong. */
export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return ~crc >>> 0;
}
