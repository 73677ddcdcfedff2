/** A rule of the older engine's tables in our language. What our language cannot say gives no rule, only where it leads to. */
import { cidrOf, formatIp } from "../../base/ip.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import {
  type EntryLayout,
  entryLayouts,
  Flag,
  isZero,
  matchesOf,
  nextOf,
  Part,
  Standard,
  structureAt,
  Turned,
} from "./legacy_entry.ts";
import { prefixLengthOf } from "./prefix_length.ts";
import {
  protocolOfNumber,
  type XtAddress,
  type XtInterface,
  type XtMatch,
  type XtProtocol,
  type XtRule,
  type XtTarget,
} from "./rules.ts";
import type { XtSets } from "./sets.ts";
import { readMatch, readTarget } from "./structures.ts";

/** The rule of an entry. */
export interface LegacyRule {
  /** Undefined: our language cannot say it. */
  readonly rule?: XtRule;
  readonly jump?: string;
  /** Where the entry behind it begins. */
  readonly next: number;
}

/** What a reader of rules has to know of the table. */
export interface LegacyRulesOptions {
  readonly entries: Uint8Array;
  readonly family: IpFamily;
  readonly sets: XtSets;
  /** The chain whose first entry is there. */
  readonly chainAt: (place: number) => string | undefined;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Nothing is asked; of what is asked our language has no word. */
type Asked<T> = T | undefined | "unsaid";

const decoder = new TextDecoder();

export class LegacyRules {
  readonly #options: LegacyRulesOptions;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #layout: EntryLayout;

  constructor(options: LegacyRulesOptions) {
    const { entries, family } = options;
    this.#options = options;
    this.#bytes = entries;
    this.#view = new DataView(entries.buffer, entries.byteOffset, entries.length);
    this.#layout = entryLayouts[family];
  }

  at(at: number): LegacyRule {
    const next = nextOf(this.#view, at, this.#layout);
    const target = this.#target(at, next);
    const jump = target !== "unsaid" && (target?.kind === "jump" || target?.kind === "goto")
      ? { jump: target.chain }
      : {};
    const rule = target === "unsaid" ? undefined : this.#header(at);
    if (!rule || target === "unsaid" || !this.#readMatches(at, rule.matches)) {
      return { ...jump, next };
    }
    return { ...jump, rule: target ? { ...rule, target } : rule, next };
  }

  /** What is asked of a packet's header, without matches. */
  #header(at: number): Mutable<XtRule> & { matches: XtMatch[] } | undefined {
    const layout = this.#layout;
    const turned = this.#bytes[at + layout.turned];
    const known = Turned.source | Turned.destination | Turned.inInterface | Turned.outInterface;
    const source = this.#address(at + layout.source, {
      mask: at + layout.sourceMask,
      not: (turned & Turned.source) !== 0,
    });
    const destination = this.#address(at + layout.destination, {
      mask: at + layout.destinationMask,
      not: (turned & Turned.destination) !== 0,
    });
    const inInterface = this.#interface(at + layout.inInterface, {
      mask: at + layout.inMask,
      not: (turned & Turned.inInterface) !== 0,
    });
    const outInterface = this.#interface(at + layout.outInterface, {
      mask: at + layout.outMask,
      not: (turned & Turned.outInterface) !== 0,
    });
    const protocol = this.#protocol(at);
    const isUnsaid = (turned & ~known) !== 0 || source === "unsaid" || destination === "unsaid" ||
      inInterface === "unsaid" || outInterface === "unsaid" || protocol === "unsaid";
    if (isUnsaid) return undefined;
    return {
      ...source && { source },
      ...destination && { destination },
      ...inInterface && { inInterface },
      ...outInterface && { outInterface },
      ...protocol && { protocol },
      matches: [],
    };
  }

  #address(at: number, { mask, not }: { mask: number; not: boolean }): Asked<XtAddress> {
    const { addressBytes } = this.#layout;
    // Most rules ask for one address or none.
    const asksNothing = !not && isZero(this.#view, at, at + addressBytes) &&
      isZero(this.#view, mask, mask + addressBytes);
    if (asksNothing) {
      return undefined;
    }
    const length = prefixLengthOf(this.#bytes.subarray(mask, mask + addressBytes));
    const address = this.#bytes.subarray(at, at + addressBytes);
    // With more bits than the mask a rule holds for no address, and all addresses cannot be turned round.
    if (length === undefined || (length === 0 && not)) return "unsaid";
    if (length === addressBytes * 8) {
      return { cidr: `${formatIp(address)}/${length}`, ...(not && { not }) };
    }
    const { network, text } = cidrOf(address, length);
    if (network.some((byte, index) => byte !== address[index])) return "unsaid";
    return length === 0 ? undefined : { cidr: text, ...(not && { not }) };
  }

  /** The `+` of `eth+` stands in the name and not in the mask. */
  #interface(at: number, { mask, not }: { mask: number; not: boolean }): Asked<XtInterface> {
    if (!not && isZero(this.#view, mask, mask + INTERFACE_BYTES)) return undefined;
    const asked = prefixLengthOf(this.#bytes.subarray(mask, mask + INTERFACE_BYTES));
    const field = this.#bytes.subarray(at, at + INTERFACE_BYTES);
    const name = decoder.decode(field.subarray(0, field.indexOf(0)));
    const isBeginning = name.endsWith("+");
    const length = isBeginning ? name.length - 1 : name.length + 1;
    if (asked === 0 || asked !== length * 8) return "unsaid";
    return { name, ...(not && { not }) };
  }

  #protocol(at: number): Asked<XtProtocol> {
    const number = this.#view.getUint16(at + this.#layout.protocol, true);
    const flags = this.#bytes[at + this.#layout.flags];
    const isIPv4 = this.#options.family === "IPv4";
    const known = isIPv4 ? Flag.gotoIPv4 : Flag.protocolIPv6 | Flag.gotoIPv6;
    const isCounted = isIPv4 ? number !== 0 : (flags & Flag.protocolIPv6) !== 0;
    if ((flags & ~known) !== 0 || isCounted !== (number !== 0)) return "unsaid";
    return number === 0 ? undefined : protocolOfNumber(number) ?? "unsaid";
  }

  #readMatches(at: number, into: XtMatch[]): boolean {
    const { family, sets } = this.#options;
    const place = { at, layout: this.#layout, view: this.#view };
    for (const structure of matchesOf(this.#bytes, place)) {
      const match = readMatch(structure, family, { sets });
      if (!match) return false;
      into.push(match);
    }
    return true;
  }

  /** Undefined: none. */
  #target(at: number, next: number): Asked<XtTarget> {
    const target = at + this.#view.getUint16(at + this.#layout.target, true);
    const isStandard = this.#bytes[target + Part.name] === 0;
    const { family } = this.#options;
    if (!isStandard) {
      return readTarget(structureAt(this.#bytes, target, next - target), family) ?? "unsaid";
    }
    const goto = family === "IPv4" ? Flag.gotoIPv4 : Flag.gotoIPv6;
    const isGoto = (this.#bytes[at + this.#layout.flags] & goto) !== 0;
    const verdict = this.#view.getInt32(target + Part.data, true);
    if (verdict >= 0 && verdict !== next) {
      const chain = this.#options.chainAt(verdict);
      return chain === undefined ? "unsaid" : { kind: isGoto ? "goto" : "jump", chain };
    }
    if (isGoto) return "unsaid";
    switch (verdict) {
      case next:
        return undefined;
      case Standard.accept:
        return { kind: "accept" };
      case Standard.drop:
        return { kind: "drop" };
      case Standard.return:
        return { kind: "return" };
      default:
        return "unsaid";
    }
  }
}

/** IFNAMSIZ. */
const INTERFACE_BYTES = 16;
