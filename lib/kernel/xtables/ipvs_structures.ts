/** The structures that the rules beside IPVS are made of: `set`, `physdev` and `ipvs`. */
import { formatIp, parseIp } from "../../base/ip.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import { xtFamilyFacts } from "./family.ts";
import {
  MAX_SIDES,
  protocolOfNumber,
  type XtMatch,
  xtProtocolNumbers,
  type XtSide,
} from "./rules.ts";
import type { XtSets } from "./sets.ts";
import { makeStructure, type XtStructure } from "./structure.ts";

type MatchOf<K extends XtMatch["kind"]> = Extract<XtMatch, { kind: K }>;

/** `struct xt_set_info_match_v4`. */
const Set = {
  index: 0,
  parts: 2,
  flags: 3,
  packetsOp: 16,
  bytesOp: 32,
  moreFlags: 40,
  bytes: 48,
} as const;
/** `IPSET_INV_MATCH`; from the next bit on, one for each part that is taken from the source. */
const SET_INVERT = 1;

/** `struct xt_physdev_info`: two names with masks each, then what is asked and what of it is inverted. */
const Physdev = { invert: 64, asked: 65, bytes: 72 } as const;
const PHYSDEV_IS_IN = 0x8;

/** `struct xt_ipvs_mtinfo`. */
const IpvsInfo = {
  address: 0,
  mask: 16,
  port: 32,
  protocol: 34,
  invert: 38,
  asked: 39,
  bytes: 40,
} as const;
/** XT_IPVS_IPVS_PROPERTY, which all others imply, XT_IPVS_PROTO, XT_IPVS_VADDR and XT_IPVS_VPORT. */
const IPVS_ASKED = 0x1 | 0x2 | 0x4 | 0x8;
/** The tool sets all of them in either family; of IPv4's the kernel looks at the first four. */
const MASK_BYTES = 16;

/** A look into the set of this number. */
export function setStructure({ not, sides }: MatchOf<"set">, index: number): XtStructure {
  return makeStructure({ name: "set", revision: 4, bytes: Set.bytes }, (view) => {
    view.setUint16(Set.index, index, true);
    view.setUint8(Set.parts, sides.length);
    view.setUint8(Set.flags, flagsOf(sides) | (not ? SET_INVERT : 0));
  });
}

/** Undefined for what our language cannot say, and for a set that is not found. */
export function readSet({ info, revision }: XtStructure, sets: XtSets): XtMatch | undefined {
  // Every iptables since 2014 writes this revision.
  if (revision !== 4 || info.length < Set.moreFlags + 4) return undefined;
  const view = new DataView(info.buffer, info.byteOffset, info.length);
  const parts = view.getUint8(Set.parts);
  const flags = view.getUint8(Set.flags);
  const sides = Array.from(
    { length: Math.min(parts, MAX_SIDES) },
    (_, part): XtSide => (flags & (2 << part)) === 0 ? "dst" : "src",
  );
  const isPlain = parts === sides.length && (flags & ~SET_INVERT) === flagsOf(sides) &&
    view.getUint8(Set.packetsOp) === 0 && view.getUint8(Set.bytesOp) === 0 &&
    view.getUint32(Set.moreFlags, true) === 0;
  const name = isPlain ? sets.nameOf(view.getUint16(Set.index, true)) : undefined;
  if (name === undefined) return undefined;
  return { kind: "set", name, sides, ...((flags & SET_INVERT) !== 0 && { not: true }) };
}

function flagsOf(sides: readonly XtSide[]): number {
  return sides.reduce((bits, side, part) => side === "src" ? bits | (2 << part) : bits, 0);
}

/** A packet that came in by a port of a bridge. */
export function physdevStructure({ not }: MatchOf<"physdev-is-in">): XtStructure {
  return makeStructure({ name: "physdev", revision: 0, bytes: Physdev.bytes }, (view) => {
    view.setUint8(Physdev.invert, not ? PHYSDEV_IS_IN : 0);
    view.setUint8(Physdev.asked, PHYSDEV_IS_IN);
  });
}

/** Names of bridge ports count only where the structure asks for them. */
export function readPhysdev(view: DataView): XtMatch | undefined {
  const invert = view.getUint8(Physdev.invert);
  const isSaid = view.getUint8(Physdev.asked) === PHYSDEV_IS_IN && (invert & ~PHYSDEV_IS_IN) === 0;
  return isSaid ? { kind: "physdev-is-in", ...(invert !== 0 && { not: true }) } : undefined;
}

/** A connection of one virtual server. */
export function ipvsStructure({ address, port, protocol }: MatchOf<"ipvs">): XtStructure {
  return makeStructure({ name: "ipvs", revision: 0, bytes: IpvsInfo.bytes }, (view, info) => {
    const bytes = parseIp(address) ?? new Uint8Array();
    info.set(bytes, IpvsInfo.address);
    info.fill(0xff, IpvsInfo.mask, IpvsInfo.mask + MASK_BYTES);
    view.setUint16(IpvsInfo.port, port, false);
    view.setUint8(IpvsInfo.protocol, xtProtocolNumbers[protocol]);
    view.setUint8(IpvsInfo.asked, IPVS_ASKED);
  });
}

/** Undefined for anything but one whole address, one port and one protocol. */
export function readIpvs(info: Uint8Array, family: IpFamily): XtMatch | undefined {
  const view = new DataView(info.buffer, info.byteOffset, info.length);
  const { addressBytes } = xtFamilyFacts(family);
  const mask = info.subarray(IpvsInfo.mask, IpvsInfo.mask + addressBytes);
  const protocol = protocolOfNumber(view.getUint8(IpvsInfo.protocol));
  const isSaid = view.getUint8(IpvsInfo.asked) === IPVS_ASKED &&
    view.getUint8(IpvsInfo.invert) === 0 && mask.every((byte) => byte === 0xff);
  if (!isSaid || !protocol) return undefined;
  return {
    kind: "ipvs",
    protocol,
    address: formatIp(info.subarray(IpvsInfo.address, IpvsInfo.address + addressBytes)),
    port: view.getUint16(IpvsInfo.port, false),
  };
}
