/**
 * The C structures of xtables, which the kernel takes inside nf_tables expressions: written as
 * iptables 1.8.9 writes them, read by what they mean. A structure that says anything that our
 * language does not gives undefined; bytes that the kernel does not look at may hold anything.
 * Integers are in host order, ports of `DNAT` in network order; sizes are padded to 8 bytes.
 */
import { assertNever } from "../../base/assert_never.ts";
import { formatIp, parseIp } from "../../base/ip.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import { xtFamilyFacts } from "./family.ts";
import {
  ipvsStructure,
  physdevStructure,
  readIpvs,
  readPhysdev,
  readSet,
  setStructure,
} from "./ipvs_structures.ts";
import { barePorts, readPorts, readSctp, sctp } from "./port_structures.ts";
import { type XtMatch, type XtState, xtStates, type XtTarget } from "./rules.ts";
import { noSets, type XtSets } from "./sets.ts";
import { makeStructure, type XtStructure } from "./structure.ts";

/** Bits of `--ctstate`: IP_CT_* from bit 1 on, then SNAT, DNAT, UNTRACKED. */
const stateBits: Readonly<Record<XtState, number>> = {
  INVALID: 0x1,
  ESTABLISHED: 0x2,
  RELATED: 0x4,
  NEW: 0x8,
  SNAT: 0x40,
  DNAT: 0x80,
  UNTRACKED: 0x100,
};

/** Offsets in `struct xt_conntrack_mtinfo3`. */
const Conntrack = { matchFlags: 146, invertFlags: 148, stateMask: 150, bytes: 168 } as const;
const CONNTRACK_STATE = 1;
/** `struct xt_recent_mtinfo_v1`. */
const Recent = {
  seconds: 0,
  hits: 4,
  set: 8,
  invert: 9,
  name: 10,
  side: 210,
  mask: 212,
  bytes: 232,
};
const RECENT_NAME_BYTES = 200;
const RecentSet = { check: 0x1, set: 0x2, reap: 0x20 } as const;
/** `struct xt_mark_mtinfo1`. */
const Mark = { value: 0, mask: 4, invert: 8 } as const;
/** `struct xt_statistic_info`. */
export const Statistic = { mode: 0, flags: 2, probability: 4, repeated: 12, bytes: 24 } as const;
/** `1 << RTN_LOCAL`. */
const LOCAL = 4;
/** The flag that turns the source's test round. */
const NOT_SOURCE = 0x1;
/** `struct nf_nat_range2`. */
export const Range2 = {
  flags: 0,
  first: 4,
  last: 20,
  firstPort: 36,
  lastPort: 38,
  basePort: 40,
  bytes: 48,
};
export const RANGE_ADDRESS_AND_PORT = 3;
const RANGE_RANDOM_FULLY = 16;
const COMMENT_BYTES = 256;
const NFACCT_NAME_BYTES = 32;

/** The structure of a test, or undefined for one that iptables writes as native expressions. */
export function matchStructure(
  match: XtMatch,
  sets: XtSets = noSets,
): XtStructure | undefined {
  switch (match.kind) {
    case "comment":
      return makeStructure(
        { name: "comment", revision: 0, bytes: COMMENT_BYTES },
        (_, info) => setText(info, match.text),
      );
    case "ports":
      if (match.protocol === "sctp") return sctp(match.destination);
      return match.destination === undefined ? barePorts(match.protocol) : undefined;
    case "mark":
      return undefined;
    case "conntrack":
      return makeStructure({ name: "conntrack", revision: 3, bytes: Conntrack.bytes }, (view) => {
        const mask = match.states.reduce((bits, state) => bits | stateBits[state], 0);
        view.setUint16(Conntrack.matchFlags, CONNTRACK_STATE, true);
        view.setUint16(Conntrack.invertFlags, match.not ? CONNTRACK_STATE : 0, true);
        view.setUint16(Conntrack.stateMask, mask, true);
      });
    case "addrtype":
      return makeStructure({ name: "addrtype", revision: 1, bytes: 8 }, (view) => {
        view.setUint16(0, match.source ? LOCAL : 0, true);
        view.setUint16(2, match.destination ? LOCAL : 0, true);
        view.setUint32(4, match.notSource ? NOT_SOURCE : 0, true);
      });
    case "statistic":
      return makeStructure({ name: "statistic", revision: 0, bytes: Statistic.bytes }, (view) => {
        view.setUint32(Statistic.probability, match.chance, true);
        // The kernel looks at the first one alone; iptables has written both for ever.
        view.setUint32(Statistic.repeated, match.chance, true);
      });
    case "recent-set":
      return recent(match.name, { set: RecentSet.set, seconds: 0 });
    case "recent-check":
      return recent(match.name, { set: RecentSet.check | RecentSet.reap, seconds: match.seconds });
    case "nfacct":
      return makeStructure(
        { name: "nfacct", revision: 1, bytes: 40 },
        (_, info) => setText(info, match.name),
      );
    case "set": {
      const index = sets.indexOf(match.name);
      if (index === undefined) throw new TypeError(`Cannot encode rule: no set "${match.name}"`);
      return setStructure(match, index);
    }
    case "physdev-is-in":
      return physdevStructure(match);
    case "ipvs":
      return ipvsStructure(match);
    default:
      return assertNever(match);
  }
}

/** The structure of a target, or undefined for one that iptables writes as a verdict. */
export function targetStructure(target: XtTarget, family: IpFamily): XtStructure | undefined {
  switch (target.kind) {
    case "dnat":
      return makeStructure({ name: "DNAT", revision: 2, bytes: Range2.bytes }, (view, info) => {
        const address = parseIp(target.address) ?? new Uint8Array();
        view.setUint32(Range2.flags, RANGE_ADDRESS_AND_PORT, true);
        info.set(address, Range2.first);
        info.set(address, Range2.last);
        view.setUint16(Range2.firstPort, target.port, false);
        view.setUint16(Range2.lastPort, target.port, false);
      });
    case "masquerade":
      return masquerade(target.randomFully, family);
    case "set-xmark":
      return makeStructure({ name: "MARK", revision: 2, bytes: 8 }, (view) => {
        view.setUint32(0, target.value, true);
        view.setUint32(4, target.mask, true);
      });
    case "reject":
      return makeStructure({ name: "REJECT", revision: 0, bytes: 8 }, (view) => {
        view.setUint32(0, xtFamilyFacts(family).portUnreachable, true);
      });
    case "accept":
    case "drop":
    case "return":
    case "jump":
    case "goto":
      return undefined;
    default:
      return assertNever(target);
  }
}

/** Sizes of the structures that `readMatch` and `readTarget` look into: nobody writes shorter ones. */
const sizes: Readonly<Record<string, number>> = {
  "comment 0": COMMENT_BYTES,
  "tcp 0": 12,
  "udp 0": 10,
  "sctp 0": 292,
  "mark 1": 9,
  "conntrack 3": 164,
  "addrtype 1": 8,
  "statistic 0": 16,
  "recent 1": 228,
  "nfacct 0": NFACCT_NAME_BYTES,
  "nfacct 1": NFACCT_NAME_BYTES,
  "physdev 0": 66,
  "ipvs 0": 40,
  "DNAT 2": 42,
  "MASQUERADE 0": 20,
  "MARK 2": 8,
  "REJECT 0": 4,
};

function isWhole({ info, name, revision }: XtStructure): boolean {
  return info.length >= (sizes[`${name} ${revision}`] ?? 0);
}

/** What the structure of a match means; undefined for what our language cannot say. */
export function readMatch(
  structure: XtStructure,
  family: IpFamily,
  { sets }: { readonly sets: XtSets } = { sets: noSets },
): XtMatch | undefined {
  const { info, name, revision } = structure;
  if (!isWhole(structure)) return undefined;
  const view = new DataView(info.buffer, info.byteOffset, info.length);
  switch (`${name} ${revision}`) {
    case "comment 0":
      return { kind: "comment", text: textOf(info.subarray(0, COMMENT_BYTES)) };
    case "tcp 0":
      return readPorts("tcp", view);
    case "udp 0":
      return readPorts("udp", view);
    case "sctp 0":
      return readSctp(view);
    case "mark 1":
      return readMark(view);
    case "conntrack 3":
      return readConntrack(view);
    case "addrtype 1":
      return readAddrtype(view);
    case "statistic 0":
      if (view.getUint32(Statistic.mode, true) !== 0) return undefined;
      return { kind: "statistic", chance: view.getUint32(Statistic.probability, true) };
    case "recent 1":
      return readRecent(info, family);
    case "nfacct 1":
    case "nfacct 0":
      return { kind: "nfacct", name: textOf(info.subarray(0, NFACCT_NAME_BYTES)) };
    case "set 4":
      return readSet(structure, sets);
    case "physdev 0":
      return readPhysdev(view);
    case "ipvs 0":
      return readIpvs(info, family);
    default:
      return undefined;
  }
}

/** What the structure of a target means; undefined for what our language cannot say. */
export function readTarget(structure: XtStructure, family: IpFamily): XtTarget | undefined {
  const { info, name, revision } = structure;
  if (!isWhole(structure)) return undefined;
  const view = new DataView(info.buffer, info.byteOffset, info.length);
  switch (`${name} ${revision}`) {
    case "DNAT 2":
      return readDnat(info, family);
    case "MASQUERADE 0":
      return readMasquerade(view, family);
    case "MARK 2":
      return {
        kind: "set-xmark",
        value: view.getUint32(0, true),
        mask: view.getUint32(4, true),
      };
    case "REJECT 0":
      return view.getUint32(0, true) === xtFamilyFacts(family).portUnreachable
        ? { kind: "reject" }
        : undefined;
    default:
      return undefined;
  }
}

/** In nft a mark is compared by an expression. */
function readMark(view: DataView): XtMatch {
  const not = view.getUint8(Mark.invert) !== 0;
  return {
    kind: "mark",
    value: view.getUint32(Mark.value, true),
    mask: view.getUint32(Mark.mask, true),
    ...(not && { not }),
  };
}

function readConntrack(view: DataView): XtMatch | undefined {
  const invert = view.getUint16(Conntrack.invertFlags, true);
  const mask = view.getUint16(Conntrack.stateMask, true);
  const states = xtStates.filter((state) => (mask & stateBits[state]) !== 0);
  const isSaid = view.getUint16(Conntrack.matchFlags, true) === CONNTRACK_STATE &&
    (invert & ~CONNTRACK_STATE) === 0 &&
    states.reduce((bits, state) => bits | stateBits[state], 0) === mask;
  return isSaid ? { kind: "conntrack", states, ...(invert !== 0 && { not: true }) } : undefined;
}

function readAddrtype(view: DataView): XtMatch | undefined {
  const source = view.getUint16(0, true);
  const destination = view.getUint16(2, true);
  const flags = view.getUint32(4, true);
  const isSaid = (flags === 0 || (flags === NOT_SOURCE && source !== 0)) &&
    (source | destination) === LOCAL &&
    (source === 0 || source === LOCAL) && (destination === 0 || destination === LOCAL);
  if (!isSaid) return undefined;
  return {
    kind: "addrtype",
    ...(source !== 0 && { source: "LOCAL" }),
    ...(flags !== 0 && { notSource: true }),
    ...(destination !== 0 && { destination: "LOCAL" }),
  };
}

function recent(
  name: string,
  { seconds, set }: { readonly set: number; readonly seconds: number },
): XtStructure {
  return makeStructure({ name: "recent", revision: 1, bytes: Recent.bytes }, (view, info) => {
    view.setUint32(Recent.seconds, seconds, true);
    view.setUint8(Recent.set, set);
    setText(info.subarray(Recent.name), name);
    info.fill(0xff, Recent.mask, Recent.mask + 16);
  });
}

function readRecent(info: Uint8Array, family: IpFamily): XtMatch | undefined {
  const view = new DataView(info.buffer, info.byteOffset, info.length);
  const set = view.getUint8(Recent.set);
  const seconds = view.getUint32(Recent.seconds, true);
  // Of IPv4's mask iptables writes four bytes or all, depending on who asked for it.
  const maskEnd = Recent.mask + xtFamilyFacts(family).addressBytes;
  const isPlain = view.getUint32(Recent.hits, true) === 0 && view.getUint8(Recent.invert) === 0 &&
    view.getUint8(Recent.side) === 0 &&
    info.subarray(Recent.mask, maskEnd).every((byte) => byte === 0xff);
  if (!isPlain) return undefined;
  const name = textOf(info.subarray(Recent.name, Recent.name + RECENT_NAME_BYTES));
  if (set === RecentSet.set && seconds === 0) return { kind: "recent-set", name };
  if (set !== (RecentSet.check | RecentSet.reap) || seconds === 0) return undefined;
  return { kind: "recent-check", name, seconds };
}

/** IPv4 still uses the oldest structure: a count of ranges, which is one, and the range. */
function masquerade(randomFully: boolean, family: IpFamily): XtStructure {
  const flags = randomFully ? RANGE_RANDOM_FULLY : 0;
  if (family === "IPv6") {
    return makeStructure(
      { name: "MASQUERADE", revision: 0, bytes: 40 },
      (view) => view.setUint32(0, flags, true),
    );
  }
  return makeStructure({ name: "MASQUERADE", revision: 0, bytes: 24 }, (view) => {
    view.setUint32(0, 1, true);
    view.setUint32(4, flags, true);
  });
}

function readMasquerade(view: DataView, family: IpFamily): XtTarget | undefined {
  const flags = view.getUint32(family === "IPv4" ? 4 : 0, true);
  if ((flags & ~RANGE_RANDOM_FULLY) !== 0) return undefined;
  return { kind: "masquerade", randomFully: flags !== 0 };
}

function readDnat(info: Uint8Array, family: IpFamily): XtTarget | undefined {
  const view = new DataView(info.buffer, info.byteOffset, info.length);
  const { addressBytes } = xtFamilyFacts(family);
  const address = info.subarray(Range2.first, Range2.first + addressBytes);
  const last = info.subarray(Range2.last, Range2.last + addressBytes);
  const port = view.getUint16(Range2.firstPort, false);
  const isOne = view.getUint32(Range2.flags, true) === RANGE_ADDRESS_AND_PORT &&
    address.every((byte, index) => byte === last[index]) &&
    port === view.getUint16(Range2.lastPort, false);
  return isOne ? { kind: "dnat", address: formatIp(address), port } : undefined;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Bytes up to a zero or the end of the field. */
function textOf(field: Uint8Array): string {
  const end = field.indexOf(0);
  return decoder.decode(end < 0 ? field : field.subarray(0, end));
}

function setText(field: Uint8Array, text: string): void {
  encoder.encodeInto(text, field);
}
