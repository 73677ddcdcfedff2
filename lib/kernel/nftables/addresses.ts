/**
 * Addresses between text and bytes, for keys of large sets: writes into the caller's buffer and makes
 * no object for an IPv4 address. The text is canonical already; what is none throws.
 */
import { formatIp } from "../../base/ip.ts";

/** Where an address goes. */
export interface AddressTarget {
  readonly into: Uint8Array;
  readonly at: number;
}

/** Writes an address of 4 or 16 bytes. */
export function writeAddress(text: string, bytes: number, target: AddressTarget): void {
  const valid = bytes === 4
    ? writeIpv4(text, text.length, target)
    : writeIpv6(text, text.length, target);
  if (!valid) throw badAddress(text, bytes);
}

/** Writes the first and the last address of an address, a CIDR or a `first-last`. */
export function writeAddressRange(
  text: string,
  bytes: number,
  target: { readonly first: AddressTarget; readonly last: AddressTarget },
): void {
  const { first, last } = target;
  const dash = text.indexOf("-");
  if (dash >= 0) {
    writeAddress(text.slice(0, dash), bytes, first);
    writeAddress(text.slice(dash + 1), bytes, last);
    return;
  }
  const slash = text.indexOf("/");
  const end = slash < 0 ? text.length : slash;
  const valid = bytes === 4 ? writeIpv4(text, end, first) : writeIpv6(text, end, first);
  const length = slash < 0 ? bytes * 8 : Number(text.slice(slash + 1));
  if (!valid || !(length >= 0 && length <= bytes * 8)) throw badAddress(text, bytes);
  for (let i = 0; i < bytes; i++) {
    const hostBits = 0xff >> Math.min(Math.max(length - i * 8, 0), 8);
    const network = first.into[first.at + i] & ~hostBits;
    first.into[first.at + i] = network;
    last.into[last.at + i] = network | hostBits;
  }
}

/** Text of the address at a place in the bytes. */
export function readAddress(bytes: Uint8Array, at: number, length: number): string {
  if (length === 4) return `${bytes[at]}.${bytes[at + 1]}.${bytes[at + 2]}.${bytes[at + 3]}`;
  return formatIp(bytes.subarray(at, at + length));
}

/** The prefix length when `first` to `last` is a CIDR (the full length for a single address), else -1. */
export function prefixLengthOf(first: Uint8Array, last: Uint8Array): number {
  let i = 0;
  while (i < first.length && first[i] === last[i]) i++;
  const length = i * 8;
  if (i === first.length) return length;
  const hostBits = first[i] ^ last[i];
  // The differing bits must be the low ones, all 0 in the first address and all 1 in the last.
  if ((hostBits & (hostBits + 1)) !== 0 || (first[i] & hostBits) !== 0) return -1;
  for (let rest = i + 1; rest < first.length; rest++) {
    if (first[rest] !== 0 || last[rest] !== 0xff) return -1;
  }
  return length + Math.clz32(hostBits) - 24;
}

function writeIpv4(text: string, end: number, { into, at }: AddressTarget): boolean {
  let octet = 0;
  let digits = 0;
  let index = 0;
  for (let i = 0; i < end; i++) {
    const code = text.charCodeAt(i);
    if (code >= 48 && code <= 57) {
      octet = octet * 10 + code - 48;
      digits++;
      if (octet > 255) return false;
    } else {
      if (code !== 46 || digits === 0 || index === 3) return false;
      into[at + index++] = octet;
      octet = 0;
      digits = 0;
    }
  }
  into[at + 3] = octet;
  return index === 3 && digits > 0;
}

function writeIpv6(text: string, end: number, { into, at }: AddressTarget): boolean {
  let position = at;
  let gap = -1;
  let i = 0;
  if (text.startsWith("::")) {
    gap = at;
    i = 2;
  }
  while (i < end) {
    let group = 0;
    const start = i;
    for (let digit = 0; i < end && (digit = hexDigit(text.charCodeAt(i))) >= 0; i++) {
      group = group * 16 + digit;
    }
    if (i === start || i - start > 4 || position === at + 16) return false;
    into[position++] = group >> 8;
    into[position++] = group & 0xff;
    if (i === end) break;
    if (text.charCodeAt(i++) !== 58 || i === end) return false;
    if (text.charCodeAt(i) === 58) {
      if (gap >= 0) return false;
      gap = position;
      i++;
    }
  }
  if (gap < 0) return position === at + 16;
  const tail = position - gap;
  into.copyWithin(at + 16 - tail, gap, position);
  into.fill(0, gap, at + 16 - tail);
  return position < at + 16;
}

function hexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  const lower = code | 0x20;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}

function badAddress(text: string, bytes: number): RangeError {
  const family = bytes === 4 ? "IPv4" : "IPv6";
  return new RangeError(`Cannot encode "${text}": it is no canonical ${family} address or range`);
}
