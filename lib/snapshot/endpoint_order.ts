/**
 * The one order of endpoints: bytewise by `ip:port`, IPv6 in brackets, as upstream sorts them.
 * `10.0.0.10:80` comes before `10.0.0.1:80`, because `0` sorts before `:`.
 */
import type { Endpoint } from "./snapshot.ts";

/** Compares as `Array.prototype.sort` wants it; 0 exactly when both are the same endpoint. */
export function compareEndpoints(a: Endpoint, b: Endpoint): number {
  const byAddress = compareAddresses(a.ip, b.ip);
  if (byAddress !== 0) return byAddress;
  if (a.port === b.port) return 0;
  return String(a.port) < String(b.port) ? -1 : 1;
}

/** Both have the same address and port. */
export function sameEndpoint(a: Endpoint, b: Endpoint): boolean {
  return a.port === b.port && a.ip === b.ip;
}

/** Compares the addresses of endpoints as they stand in that order. */
export function compareAddresses(a: string, b: string): number {
  if (a === b) return 0;
  // Where one text begins with the other, what decides is the character that ends an address.
  if (a.length < b.length && b.startsWith(a)) return endSortsBefore(a, b) ? -1 : 1;
  if (b.length < a.length && a.startsWith(b)) return endSortsBefore(b, a) ? 1 : -1;
  return a < b ? -1 : 1;
}

/** `:` or `]` ends an address; no character that can follow in an address lies between the two. */
function endSortsBefore(prefix: string, longer: string): boolean {
  return ":" < longer.charAt(prefix.length);
}
