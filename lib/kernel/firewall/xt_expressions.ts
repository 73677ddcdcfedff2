/**
 * Matches and targets of xtables as the steps that nf_tables would take. Both engines carry them as C
 * structures; integers are in host order. What is not known here becomes a step that may go either way.
 */
import type { IpFamily } from "../../base/ip_family.ts";
import { readString } from "../netlink/attributes.ts";
import { CmpOp } from "../nftables/expressions.ts";
import type { XtStructure } from "../xtables/structure.ts";
import type { FirewallElement, FirewallExpression } from "./firewall.ts";
import { Ct, CtState, FibKey, Meta } from "./packet_keys.ts";

/** A register that no rule of xtables needs for anything else. */
const SCRATCH = 1;

/** The value is one of none. */
const never: FirewallExpression = {
  kind: "lookup",
  set: { name: "", fieldBytes: [1], elements: [] },
  setName: "",
  from: SCRATCH,
  not: false,
};

/**
 * What a match does, to a packet of TCP, UDP or SCTP without headers between: those that ask for one
 * match none, also where what they ask of it is turned round.
 */
export function matchExpressions(
  structure: XtStructure,
  family: IpFamily,
): readonly FirewallExpression[] {
  const view = viewOf(structure.info);
  switch (`${structure.name} ${structure.revision}`) {
    case "comment 0":
      return [{ kind: "passive", what: "comment" }];
    case "tcp 0":
      return view.byteLength < 12 ? unknownMatch(structure) : tcp(view);
    case "udp 0":
    case "udplite 0":
      return view.byteLength < 9 ? unknownMatch(structure) : ports(view, view.getUint8(8));
    case "multiport 1":
      return view.byteLength < 48 ? unknownMatch(structure) : multiport(view);
    case "conntrack 1":
    case "conntrack 2":
    case "conntrack 3":
      return view.byteLength < 154 ? unknownMatch(structure) : conntrack(structure, view);
    case "state 0":
      return view.byteLength < 4 ? unknownMatch(structure) : states(view.getUint32(0, true), false);
    case "addrtype 0":
    case "addrtype 1":
      return view.byteLength < 8 ? unknownMatch(structure) : addrtype(structure, view);
    case "mark 1":
      if (view.byteLength < 9) return unknownMatch(structure);
      return [{
        kind: "match-mark",
        value: view.getUint32(0, true),
        mask: view.getUint32(4, true),
        not: view.getUint8(8) !== 0,
      }];
    case "pkttype 0":
      if (view.byteLength < 8) return unknownMatch(structure);
      return [
        { kind: "meta", key: Meta.pkttype, into: SCRATCH },
        compare(Uint8Array.of(view.getUint32(0, true)), view.getUint32(4, true) !== 0),
      ];
    case "ah 0":
    case "dst 0":
    case "frag 0":
    case "hbh 0":
    case "mh 0":
    case "rt 0":
      return [never];
    case "iprange 1":
      return view.byteLength < 65 ? unknownMatch(structure) : iprange(structure.info, family);
    default:
      return unknownMatch(structure);
  }
}

/** What a target does, but for the verdicts, which have no structure. */
export function targetExpressions(
  structure: XtStructure,
  family: IpFamily,
): readonly FirewallExpression[] {
  const { name } = structure;
  switch (name) {
    case "REJECT":
      return [{ kind: "reject" }];
    case "MARK":
      return mark(structure);
    case "CONNMARK":
      return connmark(structure);
    case "DNAT":
    case "SNAT":
      return [{ kind: "translate", what: name, ...translatedTo(structure, family) }];
    case "MASQUERADE":
    case "NETMAP":
    case "REDIRECT":
      return [{ kind: "translate", what: name }];
    default:
      return passiveTargets.has(name)
        ? [{ kind: "passive", what: name }]
        : [{ kind: "decide-unknown", what: `target ${name}` }];
  }
}

/** MAP_IPS: the structure's addresses count. */
const MAPS_ADDRESSES = 1;

/**
 * `struct nf_nat_ipv4_multi_range_compat`: a number of ranges, then flags, first and last address; later
 * revisions are `struct nf_nat_range`: flags, then both, each in 16 bytes.
 */
function translatedTo({ info, revision }: XtStructure, family: IpFamily) {
  const [flagsAt, room] = revision === 0 ? [4, 4] : [0, 16];
  if (info.length < flagsAt + 4 + 2 * room) return {};
  if ((viewOf(info).getUint32(flagsAt, true) & MAPS_ADDRESSES) === 0) return {};
  const length = family === "IPv4" ? 4 : 16;
  const at = flagsAt + 4;
  return {
    to: { first: info.slice(at, at + length), last: info.slice(at + room, at + room + length) },
  };
}

/** Targets after which the packet goes on to the next rule as it was. */
const passiveTargets: ReadonlySet<string> = new Set(
  ("AUDIT CHECKSUM CLASSIFY CONNSECMARK CT DSCP HL HMARK IDLETIMER LED LOG NFLOG NOTRACK RATEEST " +
    "SECMARK SET TCPMSS TCPOPTSTRIP TOS TRACE TTL ULOG").split(" "),
);

function unknownMatch({ name }: XtStructure): readonly FirewallExpression[] {
  return [{ kind: "match-unknown", what: `match "${name}"` }];
}

function compare(value: Uint8Array, not: boolean): FirewallExpression {
  return { kind: "cmp", from: SCRATCH, op: not ? CmpOp.neq : CmpOp.eq, value };
}

function load(base: "network" | "transport", offset: number, length: number): FirewallExpression {
  return { kind: "payload", base, offset, length, into: SCRATCH };
}

/** `struct xt_tcp`: source range, destination range, option, mask and value of the flags, what is turned round. */
function tcp(view: DataView): readonly FirewallExpression[] {
  const turned = view.getUint8(11);
  const [option, mask, flags] = [view.getUint8(8), view.getUint8(9), view.getUint8(10)];
  return [
    ...ports(view, turned),
    ...(mask === 0 ? [] : [
      load("transport", 13, 1),
      {
        kind: "bitwise" as const,
        from: SCRATCH,
        into: SCRATCH,
        mask: Uint8Array.of(mask),
        xor: Uint8Array.of(0),
      },
      compare(Uint8Array.of(flags), (turned & 4) !== 0),
    ]),
    ...(option === 0 ? [] : [{ kind: "match-unknown" as const, what: "a TCP option" }]),
  ];
}

/** The two ranges with which `struct xt_tcp` and `struct xt_udp` begin. */
function ports(view: DataView, turned: number): readonly FirewallExpression[] {
  return [0, 1].flatMap((side) => {
    const [first, last] = [view.getUint16(side * 4, true), view.getUint16(side * 4 + 2, true)];
    const not = (turned & (1 << side)) !== 0;
    if (first === 0 && last === 0xffff && !not) return [];
    return [
      load("transport", side * 2, 2),
      { kind: "range", from: SCRATCH, not, first: portBytes(first), last: portBytes(last) },
    ];
  });
}

function portBytes(port: number): Uint8Array {
  return Uint8Array.of(port >> 8, port & 0xff);
}

/** `struct xt_multiport_v1`: which side, how many, 15 ports, which of them begin a range, turned round. */
function multiport(view: DataView): readonly FirewallExpression[] {
  const side = view.getUint8(0);
  if (side > 1) return [{ kind: "match-unknown", what: "ports of either side" }];
  const elements: FirewallElement[] = [];
  for (let at = 0; at < Math.min(view.getUint8(1), 15); at++) {
    const first = view.getUint16(2 + at * 2, true);
    const isRange = view.getUint8(32 + at) !== 0 && at < 14;
    const last = isRange ? view.getUint16(2 + ++at * 2, true) : first;
    elements.push({ first: portBytes(first), last: portBytes(last) });
  }
  return [load("transport", side * 2, 2), oneOf(elements, view.getUint8(47) !== 0)];
}

function oneOf(elements: readonly FirewallElement[], not: boolean): FirewallExpression {
  const fieldBytes = [elements[0]?.first.length ?? 1];
  return {
    kind: "lookup",
    set: { name: "", fieldBytes, elements },
    setName: "",
    from: SCRATCH,
    not,
  };
}

/** What a match of conntrack asks for; iptables notes besides that somebody wrote `-m state`. */
const STATE = 0x1;
const STATE_ALIAS = 0x2000;

/** `struct xt_conntrack_mtinfo1` to 3, of which we know the states. */
function conntrack(structure: XtStructure, view: DataView): readonly FirewallExpression[] {
  const asked = view.getUint16(146, true);
  const turned = view.getUint16(148, true);
  const mask = structure.revision === 1 ? view.getUint8(150) : view.getUint16(150, true);
  return (asked & ~STATE_ALIAS) === STATE
    ? states(mask, (turned & 1) !== 0)
    : unknownMatch(structure);
}

/** Bits of `--ctstate`: those of `ct state`, and SNAT, DNAT, UNTRACKED. */
function states(mask: number, not: boolean): readonly FirewallExpression[] {
  const plain = mask & (CtState.invalid | CtState.established | CtState.related | CtState.new);
  const bits = plain | ((mask & 0x100) !== 0 ? CtState.untracked : 0);
  // A packet that comes in new was not translated: those two never match.
  return [
    { kind: "ct", key: Ct.state, into: SCRATCH },
    {
      kind: "bitwise",
      from: SCRATCH,
      into: SCRATCH,
      mask: hostNumber(bits),
      xor: new Uint8Array(4),
    },
    compare(new Uint8Array(4), !not),
  ];
}

function hostNumber(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value, true);
  return bytes;
}

/** `struct xt_addrtype_info_v1` and its elder: masks of RTN_* for both addresses. */
function addrtype(structure: XtStructure, view: DataView): readonly FirewallExpression[] {
  const masks = [view.getUint16(0, true), view.getUint16(2, true)];
  const flags = view.getUint32(4, true);
  if (structure.revision === 0 ? view.byteLength < 12 : (flags & ~3) !== 0) {
    return unknownMatch(structure);
  }
  const turned = structure.revision === 1
    ? [(flags & 1) !== 0, (flags & 2) !== 0]
    : [flags !== 0, view.getUint32(8, true) !== 0];
  return [FibKey.saddr, FibKey.daddr].flatMap((address, side) => {
    if (masks[side] === 0) return [];
    const types = Array.from({ length: 16 }, (_, type) => type)
      .filter((type) => (masks[side] & (1 << type)) !== 0);
    const elements = types.map((type) => ({ first: hostNumber(type), last: hostNumber(type) }));
    return [
      { kind: "fib", result: FibKey.addressType, flags: address, into: SCRATCH },
      oneOf(elements, turned[side]),
    ];
  });
}

/** `struct xt_iprange_mtinfo`: two ranges of 16 bytes an address, which of them hold, which are turned round. */
function iprange(info: Uint8Array, family: IpFamily): readonly FirewallExpression[] {
  const length = family === "IPv4" ? 4 : 16;
  const offsets = family === "IPv4" ? [12, 16] : [8, 24];
  const flags = info[64];
  return offsets.flatMap((offset, side) => {
    if ((flags & (1 << side)) === 0) return [];
    const at = side * 32;
    return [load("network", offset, length), {
      kind: "range",
      from: SCRATCH,
      not: (flags & (16 << side)) !== 0,
      first: info.slice(at, at + length),
      last: info.slice(at + 16, at + 16 + length),
    }];
  });
}

/** `struct xt_mark_tginfo2`. */
function mark({ info, revision }: XtStructure): readonly FirewallExpression[] {
  if (revision !== 2 || info.length < 8) return unknownMark("MARK");
  const view = viewOf(info);
  return [{ kind: "set-mark", value: view.getUint32(0, true), mask: view.getUint32(4, true) }];
}

/** `struct xt_connmark_tginfo1`: three numbers, then what is done; 2 has two bytes more before that. */
function connmark({ info, revision }: XtStructure): readonly FirewallExpression[] {
  const mode = info[revision >= 2 ? 14 : 12];
  const changesPacket = mode === undefined || mode === RESTORE;
  return changesPacket ? unknownMark("CONNMARK") : [{ kind: "passive", what: "CONNMARK" }];
}

/** XT_CONNMARK_RESTORE: the packet gets the connection's mark. */
const RESTORE = 2;

function unknownMark(what: string): readonly FirewallExpression[] {
  return [
    { kind: "load-unknown", what, into: SCRATCH },
    { kind: "set-meta", key: Meta.mark, from: SCRATCH },
  ];
}

/** The text of a comment, for whoever names a rule. */
export function commentOf({ info, name }: XtStructure): string | undefined {
  return name === "comment" ? readString(info) : undefined;
}

function viewOf(info: Uint8Array): DataView {
  return new DataView(info.buffer, info.byteOffset, info.length);
}
