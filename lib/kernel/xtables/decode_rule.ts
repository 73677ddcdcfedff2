/**
 * A rule of a dump in our language, whoever wrote it: 1.8.9 asks for the protocol before the addresses,
 * 1.8.11 behind them and in IPv4 by a byte of the header. What our language cannot say gives no rule,
 * only where it leads to.
 */
import { cidrOf } from "../../base/ip.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import { forEachAttribute } from "../netlink/attributes.ts";
import { PayloadBase } from "../nf_tables/expression_wire.ts";
import { ListAttr } from "../nf_tables/wire.ts";
import { CmpOp, DESTINATION_PORT, MetaKey } from "./encode_rule.ts";
import {
  comparisonOf,
  type Loaded,
  maskOf,
  metaOf,
  partsOf,
  payloadOf,
  structureOf,
  verdictOf,
} from "./expression_parts.ts";
import { type XtFamilyFacts, xtFamilyFacts } from "./family.ts";
import { prefixLengthOf } from "./prefix_length.ts";
import { protocolOfNumber, type XtMatch, type XtRule, type XtTarget } from "./rules.ts";
import { noSets, type XtSets } from "./sets.ts";
import { readMatch, readTarget } from "./structures.ts";

const decoder = new TextDecoder();

/** The rule that the expression list says; undefined for one that our language cannot say. */
export function decodeRule(
  list: Uint8Array,
  family: IpFamily,
  { sets }: { readonly sets: XtSets } = { sets: noSets },
): XtRule | undefined {
  const reader = new ExpressionReader(family, sets);
  let isSaid = true;
  forEachAttribute(list, (type, value) => {
    if (isSaid && type === ListAttr.element) isSaid = reader.add(value);
  });
  return isSaid ? reader.finish() : undefined;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Puts a rule together, expression by expression. */
class ExpressionReader {
  readonly #family: IpFamily;
  readonly #facts: XtFamilyFacts;
  readonly #sets: XtSets;
  readonly #matches: XtMatch[] = [];
  readonly #rule: Mutable<XtRule> = { matches: this.#matches };
  /** Where among the matches native ports stand: their protocol may come later. */
  #ports: { readonly at: number; readonly destination: number } | undefined;
  #loaded: Loaded | undefined;

  constructor(family: IpFamily, sets: XtSets) {
    this.#family = family;
    this.#sets = sets;
    this.#facts = xtFamilyFacts(family);
  }

  /** False: our language cannot say this. */
  add(expression: Uint8Array): boolean {
    const { data, name } = partsOf(expression);
    // Whatever follows the target is no rule of iptables.
    if (this.#rule.target) return false;
    switch (name) {
      case "payload":
        return this.#load(payloadOf(data));
      case "meta":
        return this.#load(metaOf(data));
      case "bitwise":
        return this.#mask(data);
      case "cmp":
        return this.#compare(data);
      case "match": {
        const match = this.#loaded
          ? undefined
          : readMatch(structureOf(data), this.#family, { sets: this.#sets });
        if (match) this.#matches.push(match);
        return match !== undefined;
      }
      case "counter":
        return !this.#loaded;
      case "immediate":
        return this.#finishWith(verdictOf(data));
      case "target":
        return this.#finishWith(readTarget(structureOf(data), this.#family));
      default:
        return false;
    }
  }

  finish(): XtRule | undefined {
    if (this.#loaded) return undefined;
    const { protocol } = this.#rule;
    if (this.#ports) {
      if (!protocol) return undefined;
      const { at, destination } = this.#ports;
      this.#matches.splice(at, 0, { kind: "ports", protocol, destination });
    }
    return this.#rule;
  }

  #load(loaded: Loaded | undefined): boolean {
    if (this.#loaded || !loaded) return false;
    this.#loaded = loaded;
    return true;
  }

  #mask(data: Uint8Array): boolean {
    const mask = maskOf(data);
    const loaded = this.#loaded;
    if (!loaded || loaded.mask || mask?.length !== loaded.length) return false;
    this.#loaded = { ...loaded, mask };
    return true;
  }

  #compare(data: Uint8Array): boolean {
    const { op, value } = comparisonOf(data);
    const loaded = this.#loaded;
    this.#loaded = undefined;
    if (!loaded || (op !== CmpOp.eq && op !== CmpOp.neq)) return false;
    const not = op === CmpOp.neq;
    if (loaded.kind === "meta") return this.#compareMeta(loaded, value, not);
    if (value.length !== loaded.length) return false;
    if (loaded.what === PayloadBase.transport) {
      const isPort = loaded.offset === DESTINATION_PORT && loaded.length === 2;
      if (!isPort || loaded.mask || not || this.#ports) return false;
      this.#ports = { at: this.#matches.length, destination: (value[0] << 8) | value[1] };
      return true;
    }
    return this.#compareHeader(loaded, value, not);
  }

  #compareMeta({ mask, what }: Loaded, value: Uint8Array, not: boolean): boolean {
    switch (what) {
      case MetaKey.l4proto:
        return !mask && !not && this.#setProtocol(value);
      case MetaKey.mark: {
        if (value.length !== 4) return false;
        const bits = mask ? hostOrder(mask) : 0xffffffff;
        this.#matches.push({
          kind: "mark",
          value: hostOrder(value),
          mask: bits,
          ...(not && { not }),
        });
        return true;
      }
      case MetaKey.iifname:
        if (mask || this.#rule.inInterface) return false;
        this.#rule.inInterface = { name: interfaceName(value), ...(not && { not }) };
        return true;
      case MetaKey.oifname:
        if (mask || this.#rule.outInterface) return false;
        this.#rule.outInterface = { name: interfaceName(value), ...(not && { not }) };
        return true;
      default:
        return false;
    }
  }

  #compareHeader({ length, mask, offset }: Loaded, value: Uint8Array, not: boolean): boolean {
    const { addressBytes, destinationOffset, protocolOffset, sourceOffset } = this.#facts;
    if (offset === protocolOffset && length === 1) return !mask && !not && this.#setProtocol(value);
    const prefixLength = mask ? prefixLengthOf(mask) : length * 8;
    if (prefixLength === undefined || length > addressBytes) return false;
    const address = new Uint8Array(addressBytes);
    address.set(value);
    const range = { cidr: cidrOf(address, prefixLength).text, ...(not && { not }) };
    if (offset === sourceOffset && !this.#rule.source) this.#rule.source = range;
    else if (offset === destinationOffset && !this.#rule.destination) {
      this.#rule.destination = range;
    } else return false;
    return true;
  }

  #setProtocol(value: Uint8Array): boolean {
    const protocol = value.length === 1 ? protocolOfNumber(value[0]) : undefined;
    if (!protocol || this.#rule.protocol) return false;
    this.#rule.protocol = protocol;
    return true;
  }

  #finishWith(target: XtTarget | undefined): boolean {
    if (this.#loaded || !target) return false;
    this.#rule.target = target;
    return true;
  }
}

/** A name without its end is the beginning of many. */
function interfaceName(value: Uint8Array): string {
  const end = value.indexOf(0);
  return end < 0 ? `${decoder.decode(value)}+` : decoder.decode(value.subarray(0, end));
}

function hostOrder(value: Uint8Array): number {
  return (value[0] | (value[1] << 8) | (value[2] << 16) | (value[3] << 24)) >>> 0;
}
