/**
 * One entry of a table of the older engine, as its headers lay it out: what it asks of a packet's header, its
 * matches, each a structure with a name, and its target.
 */
import type { IpFamily } from "../../base/ip_family.ts";
import { readString } from "../netlink/attributes.ts";
import type { XtStructure } from "./structure.ts";

/** Offsets in `struct ipt_entry` and `struct ip6t_entry`. */
export interface EntryLayout {
  readonly addressBytes: number;
  readonly source: number;
  readonly destination: number;
  readonly sourceMask: number;
  readonly destinationMask: number;
  readonly inInterface: number;
  readonly outInterface: number;
  readonly inMask: number;
  readonly outMask: number;
  readonly protocol: number;
  readonly flags: number;
  readonly turned: number;
  /** From the entry's beginning to its target, and to the next entry. */
  readonly target: number;
  readonly next: number;
  readonly matches: number;
  readonly headerSource: number;
  readonly headerDestination: number;
}

export const entryLayouts: Readonly<Record<IpFamily, EntryLayout>> = {
  IPv4: {
    addressBytes: 4,
    source: 0,
    destination: 4,
    sourceMask: 8,
    destinationMask: 12,
    inInterface: 16,
    outInterface: 32,
    inMask: 48,
    outMask: 64,
    protocol: 80,
    flags: 82,
    turned: 83,
    target: 88,
    next: 90,
    matches: 112,
    headerSource: 12,
    headerDestination: 16,
  },
  IPv6: {
    addressBytes: 16,
    source: 0,
    destination: 16,
    sourceMask: 32,
    destinationMask: 48,
    inInterface: 64,
    outInterface: 80,
    inMask: 96,
    outMask: 112,
    protocol: 128,
    flags: 131,
    turned: 132,
    target: 140,
    next: 142,
    matches: 168,
    headerSource: 8,
    headerDestination: 24,
  },
};

/** What `turned` turns round. */
export const Turned = {
  inInterface: 1,
  outInterface: 2,
  source: 8,
  destination: 16,
  protocol: 64,
} as const;
/** IPT_F_FRAG and IPT_F_GOTO; of IPv6 IP6T_F_PROTO says that the protocol counts. */
export const Flag = {
  fragment: 1,
  gotoIPv4: 2,
  protocolIPv6: 1,
  tosIPv6: 2,
  gotoIPv6: 4,
} as const;
/** `struct xt_entry_match` and `xt_entry_target`: a size, a name, a revision, and what follows. */
export const Part = { name: 2, nameBytes: 29, revision: 31, data: 32 } as const;
/** A target of this name begins a chain, whose name follows; the last one ends the table. */
export const ERROR = "ERROR";
/** The name of a chain in `struct xt_error_target`, which ends with it and two bytes. */
export const ChainName = { bytes: 30, paddedBytes: 32 } as const;
/** Verdicts of the standard target are stored as -(verdict) - 1; others are places of chains and entries. */
export const Standard = { drop: -1, accept: -2, return: -5 } as const;

/** Where the entry behind this one begins. Throws `RangeError` where that cannot be. */
export function nextOf(view: DataView, at: number, layout: EntryLayout): number {
  const length = view.getUint16(at + layout.next, true);
  if (length < layout.matches || at + length > view.byteLength) {
    throw new RangeError(`Cannot read the rules of iptables: an entry says ${length} bytes`);
  }
  return at + length;
}

/** The matches of an entry. */
export function* matchesOf(
  bytes: Uint8Array,
  { at, layout, view }: {
    readonly at: number;
    readonly layout: EntryLayout;
    readonly view: DataView;
  },
): Generator<XtStructure> {
  const target = at + view.getUint16(at + layout.target, true);
  for (let part = at + layout.matches; part + Part.data <= target;) {
    const size = view.getUint16(part, true);
    if (size < Part.data || part + size > target) {
      throw new RangeError(`Cannot read the rules of iptables: a match says ${size} bytes`);
    }
    yield structureAt(bytes, part, size);
    part += size;
  }
}

/** A match, or the target of an entry. */
export function structureAt(bytes: Uint8Array, at: number, size: number): XtStructure {
  return {
    name: textAt(bytes, at + Part.name, Part.nameBytes),
    revision: bytes[at + Part.revision],
    info: bytes.subarray(at + Part.data, at + size),
  };
}

/** Whether all these words of four bytes are zero. */
export function isZero(view: DataView, from: number, to: number): boolean {
  for (let at = from; at < to; at += 4) if (view.getUint32(at, true) !== 0) return false;
  return true;
}

/** A text that ends with a zero, or with its field. */
export function textAt(bytes: Uint8Array, at: number, length: number): string {
  if (at + length > bytes.length) {
    throw new RangeError("Cannot read the rules of iptables: an entry ends too early");
  }
  return readString(bytes.subarray(at, at + length));
}
