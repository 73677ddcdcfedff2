/**
 * Reading netlink attributes (`struct nlattr`: u16 length with its own 4 bytes, u16 type, value padded
 * to 4 bytes). Every length comes from outside: a bad one throws, it never reads past its parent.
 *
 * Integers of rtnetlink are in host order, those of nfnetlink in network order. The program runs on
 * x86_64 and arm64 only, so host order is little-endian.
 */

/** NLA_F_NESTED | NLA_F_NET_BYTEORDER: flags in the type field. */
const TYPE_MASK = 0x3fff;
const text = new TextDecoder();

/** Calls `visit` with type and value of each attribute in the bytes, in their order. */
export function forEachAttribute(
  bytes: Uint8Array,
  visit: (type: number, value: Uint8Array) => void,
): void {
  let at = 0;
  while (at + 4 <= bytes.length) {
    const length = bytes[at] | (bytes[at + 1] << 8);
    if (length < 4 || at + length > bytes.length) throw malformed(length, bytes.length - at);
    const type = (bytes[at + 2] | (bytes[at + 3] << 8)) & TYPE_MASK;
    visit(type, bytes.subarray(at + 4, at + length));
    at += (length + 3) & ~3;
  }
}

/** A part of a payload. */
export interface AttributeRange {
  readonly from: number;
  readonly to: number;
}

/**
 * The same by offsets, without a view of each value: there may be hundreds of thousands. Ends where `visit`
 * answers false.
 */
export function visitAttributes(
  bytes: Uint8Array,
  { from, to }: AttributeRange,
  visit: (type: number, from: number, to: number) => boolean | void,
): void {
  let at = from;
  while (at + 4 <= to) {
    const length = bytes[at] | (bytes[at + 1] << 8);
    if (length < 4 || at + length > to) throw malformed(length, to - at);
    const type = (bytes[at + 2] | (bytes[at + 3] << 8)) & TYPE_MASK;
    if (visit(type, at + 4, at + length) === false) return;
    at += (length + 3) & ~3;
  }
}

/** The attributes by type; of a repeated type, the last. */
export function readAttributes(bytes: Uint8Array): ReadonlyMap<number, Uint8Array> {
  const found = new Map<number, Uint8Array>();
  forEachAttribute(bytes, (type, value) => found.set(type, value));
  return found;
}

/** The values of every attribute of one type: how the kernel writes lists. */
export function readList(bytes: Uint8Array, type: number): readonly Uint8Array[] {
  const found: Uint8Array[] = [];
  forEachAttribute(bytes, (each, value) => {
    if (each === type) found.push(value);
  });
  return found;
}

/** Text up to the first zero byte. */
export function readString(value: Uint8Array): string {
  const end = value.indexOf(0);
  return text.decode(end < 0 ? value : value.subarray(0, end));
}

/** One byte. */
export function readU8(value: Uint8Array): number {
  return viewOf(value, 1).getUint8(0);
}

/** Two bytes in network order. */
export function readU16be(value: Uint8Array): number {
  return viewOf(value, 2).getUint16(0, false);
}

/** Four bytes in network order. */
export function readU32be(value: Uint8Array): number {
  return viewOf(value, 4).getUint32(0, false);
}

/** Four bytes in host order. */
export function readU32(value: Uint8Array): number {
  return viewOf(value, 4).getUint32(0, true);
}

/** Eight bytes in network order. */
export function readU64be(value: Uint8Array): bigint {
  return viewOf(value, 8).getBigUint64(0, false);
}

function viewOf(value: Uint8Array, size: number): DataView {
  if (value.length < size) throw malformed(value.length, size);
  return new DataView(value.buffer, value.byteOffset, size);
}

function malformed(length: number, room: number): RangeError {
  return new RangeError(
    `Cannot read netlink attribute: it says ${length} bytes where ${room} are expected`,
  );
}
