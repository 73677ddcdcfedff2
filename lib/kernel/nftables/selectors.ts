/** What a rule looks at in a packet, as expressions that load it into registers. */
import { type Expression, MetaKey, type Register } from "./expressions.ts";
import type { FamilyFacts } from "./family.ts";
import type { NftFieldType, NftSelector } from "./operations.ts";

const TRANSPORT_DPORT = { base: "transport", offset: 2, length: 2 } as const;

/** The field type that a selector yields. */
export function selectorType(selector: NftSelector): NftFieldType {
  switch (selector) {
    case "saddr":
    case "daddr":
      return "addr";
    case "l4proto":
      return "inet_proto";
    case "dport":
      return "inet_service";
    default:
      return "index";
  }
}

/** Loads the selectors side by side from register 1 on, each at a multiple of 4 bytes. */
export function load(select: readonly NftSelector[], facts: FamilyFacts): Expression[] {
  let offset = 0;
  return select.map((selector) => {
    const into = registerAt(offset);
    const isAddress = selector === "saddr" || selector === "daddr";
    offset += isAddress ? facts.addressBytes : 4;
    return loadOne(selector, { into, facts });
  });
}

/** Loads one selector. */
export function loadOne(
  selector: NftSelector,
  { into, facts }: { readonly into: Register; readonly facts: FamilyFacts },
): Expression {
  switch (selector) {
    case "saddr":
    case "daddr": {
      const offset = selector === "saddr" ? facts.saddrOffset : facts.daddrOffset;
      return { kind: "payload", base: "network", offset, length: facts.addressBytes, into };
    }
    case "l4proto":
      return { kind: "meta", key: MetaKey.l4proto, into };
    case "dport":
      return { kind: "payload", ...TRANSPORT_DPORT, into };
    default:
      return "constant" in selector
        ? { kind: "numgen", modulus: 1, offset: selector.constant, into }
        : { kind: "numgen", modulus: selector.numgenModulus, offset: 0, into };
  }
}

/** The register that starts so many bytes behind register 1. */
export function registerAt(offset: number): Register {
  return offset % 16 === 0 ? 1 + offset / 16 : 8 + offset / 4;
}
