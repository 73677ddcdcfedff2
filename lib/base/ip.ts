/**
 * Addresses and ranges. Kubernetes reads both leniently: a leading zero in an IPv4 octet is decimal,
 * and an IPv4-mapped IPv6 address is the IPv4 address. Everything that leaves this file is canonical,
 * so equal addresses are equal strings.
 */
import { isCanonicalIpText } from "./canonical_ip_text.ts";
import type { IpFamily } from "./ip_family.ts";

/** A range of addresses; `text` is canonical and masked. */
export interface Cidr {
  readonly family: IpFamily;
  readonly network: Uint8Array;
  readonly prefixLength: number;
  readonly text: string;
}

/** The address as 4 or 16 bytes in network order, or undefined when the text is none. */
export function parseIp(text: string): Uint8Array | undefined {
  return text.includes(":") ? parseIpv6(text) : parseIpv4(text);
}

/** The address as canonical text, or undefined when it is none. Canonical text is given back itself. */
export function canonicalIp(text: string): string | undefined {
  if (isCanonicalIpText(text)) return text;
  const bytes = parseIp(text);
  return bytes && formatIp(bytes);
}

/** The family of a valid address, or undefined. */
export function ipFamilyOf(text: string): IpFamily | undefined {
  const bytes = parseIp(text);
  return bytes && familyOfBytes(bytes);
}

/** The family of canonical text; anything else gives no meaningful answer. */
export function familyOfCanonicalIp(text: string): IpFamily {
  return text.includes(":") ? "IPv6" : "IPv4";
}

/** Canonical text of 4 or 16 bytes. */
export function formatIp(bytes: Uint8Array): string {
  if (bytes.length === 4) return `${bytes[0]}.${bytes[1]}.${bytes[2]}.${bytes[3]}`;
  const groups: number[] = [];
  for (let i = 0; i < 16; i += 2) groups.push((bytes[i] << 8) | bytes[i + 1]);
  const gap = longestZeroRun(groups);
  if (gap.length < 2) return groups.map((group) => group.toString(16)).join(":");
  const hex = (part: number[]) => part.map((group) => group.toString(16)).join(":");
  return `${hex(groups.slice(0, gap.start))}::${hex(groups.slice(gap.start + gap.length))}`;
}

/** The range, masked to its network, or undefined when the text is none. Surrounding space is an error. */
export function parseCidr(text: string): Cidr | undefined {
  const slash = text.indexOf("/");
  if (slash < 0) return undefined;
  const address = text.slice(0, slash);
  const length = text.slice(slash + 1);
  if (!/^\d{1,3}$/.test(length)) return undefined;
  const bytes = parseIp(address);
  if (!bytes) return undefined;
  let prefixLength = Number(length);
  if (prefixLength > (address.includes(":") ? 128 : 32)) return undefined;
  if (bytes.length === 4 && address.includes(":")) {
    // ::ffff:10.0.0.0/104 is 10.0.0.0/8; shorter prefixes reach beyond the mapped range.
    prefixLength -= 96;
    if (prefixLength < 0) return undefined;
  }
  return cidrOf(bytes, prefixLength);
}

/** The range of the given length that holds the address. */
export function cidrOf(address: Uint8Array, prefixLength: number): Cidr {
  const network = address.map((byte, i) =>
    byte & (0xff00 >> clamp(prefixLength - i * 8, 0, 8)) & 0xff
  );
  return {
    family: familyOfBytes(address),
    network,
    prefixLength,
    text: `${formatIp(network)}/${prefixLength}`,
  };
}

/** Whether the range holds the address; false for one of the other family. */
export function cidrContains(cidr: Cidr, address: Uint8Array): boolean {
  if (address.length !== cidr.network.length) return false;
  const whole = cidr.prefixLength >> 3;
  for (let i = 0; i < whole; i++) if (address[i] !== cidr.network[i]) return false;
  const rest = cidr.prefixLength & 7;
  return rest === 0 || ((address[whole] ^ cidr.network[whole]) & (0xff00 >> rest) & 0xff) === 0;
}

/** 127.0.0.0/8 and ::1. */
export function isLoopback(address: Uint8Array): boolean {
  if (address.length === 4) return address[0] === 127;
  return address[15] === 1 && address.subarray(0, 15).every((byte) => byte === 0);
}

/** `1.2.3.4:80`, `[::1]:80`: also the identity of an endpoint. */
export function joinHostPort(ip: string, port: number): string {
  return ip.includes(":") ? `[${ip}]:${port}` : `${ip}:${port}`;
}

/** The family that so many bytes belong to. */
export function familyOfBytes(bytes: Uint8Array): IpFamily {
  return bytes.length === 4 ? "IPv4" : "IPv6";
}

function parseIpv4(text: string): Uint8Array | undefined {
  const bytes = new Uint8Array(4);
  let octet = -1;
  let index = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 48 && code <= 57) {
      octet = Math.max(octet, 0) * 10 + code - 48;
      if (octet > 255) return undefined;
    } else if (code === 46 && octet >= 0 && index < 3) {
      bytes[index++] = octet;
      octet = -1;
    } else {
      return undefined;
    }
  }
  if (index !== 3 || octet < 0) return undefined;
  bytes[3] = octet;
  return bytes;
}

function parseIpv6(text: string): Uint8Array | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const head = parseGroups(halves[0], halves.length === 1);
  const tail = halves.length === 2 ? parseGroups(halves[1], true) : [];
  if (!head || !tail) return undefined;
  const missing = 16 - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 2) return undefined;
  const bytes = new Uint8Array(16);
  bytes.set(head);
  bytes.set(tail, 16 - tail.length);
  return isMapped(bytes) ? bytes.slice(12) : bytes;
}

/** Bytes of colon-separated groups; the last group may be dotted IPv4 where `mayEndInIpv4`. */
function parseGroups(text: string, mayEndInIpv4: boolean): number[] | undefined {
  if (text === "") return [];
  const bytes: number[] = [];
  const groups = text.split(":");
  for (const [i, group] of groups.entries()) {
    if (group.includes(".") && mayEndInIpv4 && i === groups.length - 1) {
      const dotted = parseIpv4(group);
      if (!dotted) return undefined;
      bytes.push(...dotted);
    } else {
      if (!/^[0-9a-fA-F]{1,4}$/.test(group)) return undefined;
      const value = parseInt(group, 16);
      bytes.push(value >> 8, value & 0xff);
    }
  }
  return bytes.length <= 16 ? bytes : undefined;
}

function isMapped(bytes: Uint8Array): boolean {
  for (let i = 0; i < 10; i++) if (bytes[i] !== 0) return false;
  return bytes[10] === 0xff && bytes[11] === 0xff;
}

function longestZeroRun(groups: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  for (let start = 0; start < groups.length; start++) {
    let length = 0;
    while (groups[start + length] === 0) length++;
    if (length > best.length) best = { start, length };
  }
  return best;
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}
