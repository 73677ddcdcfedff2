/**
 * Whether an entry of the older engine's tables says just what a rule does, without making values of it: a start
 * over rules that are right asks that of every one, and garbage of a hundred thousand rules takes longer
 * than all the rest. Nothing is said of an entry that seems to differ: it may mean the same in other words.
 */
import { deepEqual } from "../../base/deep_equal.ts";
import { parseIp } from "../../base/ip.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import {
  type EntryLayout,
  entryLayouts,
  Flag,
  isZero,
  nextOf,
  Part,
  Standard,
  structureAt,
  Turned,
} from "./legacy_entry.ts";
import { isPlainPorts } from "./port_structures.ts";
import { type XtAddress, type XtMatch, xtProtocolNumbers, type XtRule } from "./rules.ts";
import type { XtSets } from "./sets.ts";
import { Range2, RANGE_ADDRESS_AND_PORT, readMatch, readTarget, Statistic } from "./structures.ts";

/** What a comparison has to know of the table. */
export interface LegacyComparisonOptions {
  readonly entries: Uint8Array;
  readonly family: IpFamily;
  readonly sets: XtSets;
  /** Where the rules of a chain begin that others may lead to; undefined: no such chain. */
  readonly placeOf: (chain: string) => number | undefined;
}

const COMMENT_BYTES = 256;
/** `struct xt_entry_target` with what `DNAT` has in it. */
const DNAT_BYTES = 80;

export class LegacyComparison {
  readonly #options: LegacyComparisonOptions;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #layout: EntryLayout;
  readonly #isIPv4: boolean;

  constructor(options: LegacyComparisonOptions) {
    const { entries, family } = options;
    this.#options = options;
    this.#bytes = entries;
    this.#view = new DataView(entries.buffer, entries.byteOffset, entries.length);
    this.#layout = entryLayouts[family];
    this.#isIPv4 = family === "IPv4";
  }

  /** Where the entry behind this one begins; undefined where this one may say something else than the rule. */
  behindSame(at: number, rule: XtRule): number | undefined {
    const next = nextOf(this.#view, at, this.#layout);
    const target = at + this.#view.getUint16(at + this.#layout.target, true);
    const isSame = this.#isHeader(at, rule) && this.#areMatches(at, target, rule.matches) &&
      this.#isTarget(target, next, rule);
    return isSame ? next : undefined;
  }

  /** What is asked of a packet's header; no interface in any rule that there are many of. */
  #isHeader(at: number, rule: XtRule): boolean {
    const { destination, inInterface, outInterface, source } = rule;
    const layout = this.#layout;
    if (inInterface || outInterface) return false;
    const turned = (source?.not ? Turned.source : 0) | (destination?.not ? Turned.destination : 0);
    return this.#bytes[at + layout.turned] === turned && this.#isProtocol(at, rule) &&
      isZero(this.#view, at + layout.inMask, at + layout.protocol) &&
      this.#isAddress(at + layout.source, at + layout.sourceMask, source) &&
      this.#isAddress(at + layout.destination, at + layout.destinationMask, destination);
  }

  /** The flags say as well whether a rule goes to a chain for good. */
  #isProtocol(at: number, { protocol, target }: XtRule): boolean {
    const isGoto = target?.kind === "goto";
    const flags = this.#isIPv4
      ? (isGoto ? Flag.gotoIPv4 : 0)
      : (isGoto ? Flag.gotoIPv6 : 0) | (protocol ? Flag.protocolIPv6 : 0);
    const number = protocol ? xtProtocolNumbers[protocol] : 0;
    return this.#bytes[at + this.#layout.flags] === flags &&
      this.#view.getUint16(at + this.#layout.protocol, true) === number;
  }

  #isAddress(at: number, mask: number, asked: XtAddress | undefined): boolean {
    const { addressBytes } = this.#layout;
    if (!asked) {
      return isZero(this.#view, at, at + addressBytes) &&
        isZero(this.#view, mask, mask + addressBytes);
    }
    const { cidr } = asked;
    const slash = cidr.indexOf("/");
    let length = 0;
    for (let i = slash + 1; i < cidr.length; i++) {
      length = length * 10 + cidr.charCodeAt(i) - DIGIT_0;
    }
    for (let i = 0; i < addressBytes; i++, length -= 8) {
      const byte = length >= 8 ? 0xff : length > 0 ? 0xff00 >> length & 0xff : 0;
      if (this.#bytes[mask + i] !== byte) return false;
    }
    return this.#hasIp(at, cidr, slash);
  }

  /** Whether the address is there with which the canonical text begins. */
  #hasIp(at: number, text: string, end: number): boolean {
    const bytes = this.#bytes;
    if (!this.#isIPv4) {
      return parseIp(text.slice(0, end))?.every((byte, index) => bytes[at + index] === byte) ??
        false;
    }
    let octet = 0;
    let place = at;
    for (let i = 0; i < end; i++) {
      const code = text.charCodeAt(i);
      if (code !== DOT) octet = octet * 10 + code - DIGIT_0;
      else if (bytes[place++] !== octet) return false;
      else octet = 0;
    }
    return place === at + 3 && bytes[place] === octet;
  }

  #areMatches(at: number, target: number, matches: readonly XtMatch[]): boolean {
    let part = at + this.#layout.matches;
    for (const match of matches) {
      const size = part + Part.data <= target ? this.#view.getUint16(part, true) : 0;
      if (size < Part.data || part + size > target || !this.#isMatch(part, size, match)) {
        return false;
      }
      part += size;
    }
    return part === target;
  }

  /** The kernel has seen to it that a structure of this name is as long as it should be. */
  #isMatch(part: number, size: number, match: XtMatch): boolean {
    const info = part + Part.data;
    switch (match.kind) {
      case "comment":
        return this.#isNamed(part, "comment", 0) &&
          this.#hasText(info, match.text, COMMENT_BYTES);
      case "statistic":
        return this.#isNamed(part, "statistic", 0) &&
          this.#view.getUint32(info + Statistic.mode, true) === 0 &&
          this.#view.getUint32(info + Statistic.probability, true) === match.chance;
      case "ports":
        if (match.protocol === "sctp") break;
        return this.#isNamed(part, match.protocol, 0) &&
          isPlainPorts(this.#view, info, match.destination);
    }
    const { family, sets } = this.#options;
    return deepEqual(readMatch(structureAt(this.#bytes, part, size), family, { sets }), match);
  }

  #isTarget(at: number, next: number, { target }: XtRule): boolean {
    if (target?.kind === "dnat") {
      const info = at + Part.data;
      const { address, port } = target;
      return next - at === DNAT_BYTES && this.#isNamed(at, "DNAT", 2) &&
        this.#view.getUint32(info + Range2.flags, true) === RANGE_ADDRESS_AND_PORT &&
        this.#view.getUint16(info + Range2.firstPort, false) === port &&
        this.#view.getUint16(info + Range2.lastPort, false) === port &&
        this.#hasIp(info + Range2.first, address, address.length) &&
        this.#hasIp(info + Range2.last, address, address.length);
    }
    const verdict = this.#verdictOf(next, target);
    if (verdict !== undefined) {
      return this.#isNamed(at, "", 0) &&
        this.#view.getInt32(at + Part.data, true) === verdict;
    }
    const { family } = this.#options;
    return deepEqual(readTarget(structureAt(this.#bytes, at, next - at), family), target);
  }

  /** Undefined where the target is none of the standard's, or leads nowhere. */
  #verdictOf(next: number, target: XtRule["target"]): number | undefined {
    switch (target?.kind) {
      case undefined:
        return next;
      case "jump":
      case "goto": {
        const place = this.#options.placeOf(target.chain);
        // That is no target.
        return place === next ? undefined : place;
      }
      case "accept":
      case "drop":
      case "return":
        return Standard[target.kind];
      default:
        return undefined;
    }
  }

  /** The name ends with a zero; what is behind it says nothing. */
  #isNamed(part: number, name: string, revision: number): boolean {
    return this.#bytes[part + Part.revision] === revision &&
      this.#hasText(part + Part.name, name, Part.nameBytes);
  }

  /** Other letters than ASCII's are told by nobody here. */
  #hasText(at: number, text: string, room: number): boolean {
    const bytes = this.#bytes;
    if (text.length >= room) return false;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code > 0x7f || bytes[at + i] !== code) return false;
    }
    return bytes[at + text.length] === 0;
  }
}

const DOT = ".".charCodeAt(0);
const DIGIT_0 = "0".charCodeAt(0);
