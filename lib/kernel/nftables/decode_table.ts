/** Tables, chains, sets and rules of a dump as values. */
import { readAttributes, readString, readU32be, readU64be } from "../netlink/attributes.ts";
import { compareBytes } from "./bytes.ts";
import { verdictOf } from "./decode_elements.ts";
import { decodeExpressions } from "./decode_rule.ts";
import { ElementCursor } from "../nf_tables/element_cursor.ts";
import { type AnonymousElement, type AnonymousSet, expressionsKey } from "./expressions.ts";
import { familyOfNfproto } from "./family.ts";
import { fieldTypesOf } from "./fields.ts";
import { lowerRule } from "./lower_rule.ts";
import type { NftListedRule, NftTableListing } from "./nftables.ts";
import type { NftBaseChain, NftChain, NftFamily, NftRule, NftSet, NftTable } from "./operations.ts";
import { readComment, readSetComment } from "./user_data.ts";
import {
  attributesOf,
  ChainAttr,
  ChainFlag,
  ElemFlag,
  HookAttr,
  HOOKS,
  RuleAttr,
  SetAttr,
  SetFlag,
  TableAttr,
  TableFlag,
  TypeId,
} from "../nf_tables/wire.ts";

const NF_DROP = 0;

/** A table; undefined for families that we do not speak of. */
export function decodeTable(payload: Uint8Array): NftTable | undefined {
  const family = familyOfNfproto(payload[0]);
  const name = readAttributes(attributesOf(payload)).get(TableAttr.name);
  return family && name && { family, name: readString(name) };
}

/** What somebody may have done to a table as a whole. */
export function decodeTableState(
  payload: Uint8Array,
): Pick<NftTableListing, "isDormant" | "ownerPort"> & {
  readonly name: string;
  /** How many chains, sets and other objects it has; none where the kernel does not say. */
  readonly objects: number;
} {
  const found = readAttributes(attributesOf(payload));
  const flags = numberOf(found.get(TableAttr.flags));
  return {
    name: stringOf(found.get(TableAttr.name)),
    isDormant: (flags & TableFlag.dormant) !== 0,
    ownerPort: (flags & TableFlag.owner) !== 0 ? numberOf(found.get(TableAttr.owner)) : undefined,
    objects: numberOf(found.get(TableAttr.use)),
  };
}

/** A chain, its table's name, and whether it goes with the one rule that leads to it. */
export function decodeChain(
  payload: Uint8Array,
): { readonly table: string; readonly chain: NftChain; readonly isOfOneRule: boolean } {
  const found = readAttributes(attributesOf(payload));
  const userData = found.get(ChainAttr.userData);
  const comment = userData && readComment(userData);
  const base = decodeBase(found);
  return {
    table: stringOf(found.get(ChainAttr.table)),
    isOfOneRule: (numberOf(found.get(ChainAttr.flags)) & ChainFlag.binding) !== 0,
    chain: {
      name: stringOf(found.get(ChainAttr.name)),
      ...(base && { base }),
      ...(comment !== undefined && { comment }),
    },
  };
}

function decodeBase(found: ReadonlyMap<number, Uint8Array>): NftBaseChain | undefined {
  const hook = found.get(ChainAttr.hook);
  if (!hook) return undefined;
  const place = readAttributes(hook);
  const type = stringOf(found.get(ChainAttr.type));
  const isDrop = numberOf(found.get(ChainAttr.policy)) === NF_DROP;
  return {
    type: type === "nat" || type === "route" ? type : "filter",
    hook: HOOKS[numberOf(place.get(HookAttr.number))] ?? "prerouting",
    priority: numberOf(place.get(HookAttr.priority)) | 0,
    ...(isDrop && { policy: "drop" as const }),
  };
}

/** What a set's dump says: one of ours or somebody else's, or the set of a single rule. */
export type ListedSet =
  | {
    readonly kind: "named";
    readonly set: NftSet;
    /** How many elements it has, where the kernel tells. */
    readonly count: number | undefined;
  }
  | { readonly kind: "anonymous"; readonly name: string; readonly shape: AnonymousShape };

/** An anonymous set but for its elements. */
export interface AnonymousShape {
  readonly keyTypeId: number;
  readonly keyBytes: number;
  readonly interval: boolean;
  readonly isVerdictMap: boolean;
}

/** A set of a table of that family. */
export function decodeSet(payload: Uint8Array, family: NftFamily): ListedSet {
  const found = readAttributes(attributesOf(payload));
  const name = stringOf(found.get(SetAttr.name));
  const flags = numberOf(found.get(SetAttr.flags));
  if ((flags & SetFlag.anonymous) === 0) {
    const count = found.get(SetAttr.count);
    return {
      kind: "named",
      set: decodeNamedSet(found, { name, flags, family }),
      count: count && readU32be(count),
    };
  }
  return {
    kind: "anonymous",
    name,
    shape: {
      keyTypeId: numberOf(found.get(SetAttr.keyType)),
      keyBytes: numberOf(found.get(SetAttr.keyLength)),
      interval: (flags & SetFlag.interval) !== 0,
      isVerdictMap: numberOf(found.get(SetAttr.dataType)) === TypeId.verdict,
    },
  };
}

function decodeNamedSet(
  found: ReadonlyMap<number, Uint8Array>,
  { name, flags, family }: {
    readonly name: string;
    readonly flags: number;
    readonly family: NftFamily;
  },
): NftSet {
  const userData = found.get(SetAttr.userData);
  const comment = userData && readSetComment(userData);
  const described = { name, ...(comment !== undefined && { comment }) };
  const key = fieldTypesOf(numberOf(found.get(SetAttr.keyType)), family);
  const value = decodeValueTypes(found, flags, family);
  const timeout = found.get(SetAttr.timeout);
  const isDynamic = (flags & SetFlag.dynamic) !== 0 && timeout !== undefined;
  const interval = (flags & SetFlag.interval) !== 0;
  const known = SetFlag.interval | SetFlag.concat | SetFlag.map |
    (isDynamic ? SetFlag.dynamic | SetFlag.timeout : 0);
  const isForeign = (flags & ~known) !== 0 || found.has(SetAttr.expr) ||
    found.has(SetAttr.expressions);
  if (!key || value === "foreign" || isForeign) return { ...described, key: [] };
  return {
    ...described,
    key,
    ...(value !== undefined && { value }),
    ...(interval && { interval }),
    ...(isDynamic && { dynamicTimeoutSeconds: Number(readU64be(timeout)) / 1000 }),
  };
}

function decodeValueTypes(
  found: ReadonlyMap<number, Uint8Array>,
  flags: number,
  family: NftFamily,
): NftSet["value"] | "foreign" {
  if ((flags & SetFlag.map) === 0) return undefined;
  const typeId = numberOf(found.get(SetAttr.dataType));
  if (typeId === TypeId.verdict) return "verdict";
  return fieldTypesOf(typeId, family) ?? "foreign";
}

/**
 * The set with its elements, in the form that a lowered rule has. An end that ends nothing, which nft
 * puts at the lowest address, is left out.
 */
export function anonymousSet(shape: AnonymousShape, list: Uint8Array): AnonymousSet {
  const elements: AnonymousElement[] = [];
  const cursor = new ElementCursor(list);
  while (cursor.next()) {
    const verdict = cursor.verdictCode >= 0
      ? verdictOf(cursor.verdictCode, cursor.view(cursor.chain))
      : undefined;
    elements.push({
      key: cursor.view(cursor.key).slice(),
      ...((cursor.flags & ElemFlag.intervalEnd) !== 0 && { isEnd: true }),
      ...(verdict && { verdict }),
    });
  }
  elements.sort((a, b) => compareBytes(a.key, b.key));
  while (elements[0]?.isEnd) elements.shift();
  // Which field a literal is of follows from the expressions before the lookup, not from the set.
  return { ...shape, keyField: "addr", elements };
}

/** A rule of a table of that family. */
export function decodeRule(
  payload: Uint8Array,
  family: NftFamily,
  anonymousSets: ReadonlyMap<string, AnonymousSet>,
): NftListedRule {
  const found = readAttributes(attributesOf(payload));
  const expressions = decodeExpressions(
    found.get(RuleAttr.expressions) ?? new Uint8Array(),
    anonymousSets,
  );
  const userData = found.get(RuleAttr.userData);
  const handle = found.get(RuleAttr.handle);
  return new DumpedRule({
    chain: stringOf(found.get(RuleAttr.chain)),
    handle: handle ? readU64be(handle) : 0n,
    family,
    // A rule with xtables extensions was written by iptables-nft.
    key: expressions && !found.has(RuleAttr.compat) ? expressionsKey(expressions) : undefined,
    comment: userData && readComment(userData),
  });
}

interface DumpedRuleOptions {
  readonly chain: string;
  readonly handle: bigint;
  readonly family: NftFamily;
  readonly key: string | undefined;
  readonly comment: string | undefined;
}

/** Keeps a rule's key instead of its expressions: a table may have many rules. */
class DumpedRule implements NftListedRule {
  readonly chain: string;
  readonly handle: bigint;
  readonly #family: NftFamily;
  readonly #key: string | undefined;
  readonly #comment: string | undefined;

  constructor(options: DumpedRuleOptions) {
    this.chain = options.chain;
    this.handle = options.handle;
    this.#family = options.family;
    this.#key = options.key;
    this.#comment = options.comment;
  }

  matches(rule: NftRule): boolean {
    return this.#key !== undefined && rule.chain === this.chain &&
      rule.comment === this.#comment &&
      expressionsKey(lowerRule(rule, this.#family)) === this.#key;
  }
}

function stringOf(value: Uint8Array | undefined): string {
  return value ? readString(value) : "";
}

function numberOf(value: Uint8Array | undefined): number {
  return value ? readU32be(value) : 0;
}
