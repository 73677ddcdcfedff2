/**
 * Operations as one nf_tables batch, with the way back: which message stands for which operation, so
 * that a refusal of the kernel names its cause.
 */
import { assertNever } from "../../base/assert_never.ts";
import { MessageFlag } from "../netlink/messages.ts";
import type { MessageWriter } from "../netlink/writer.ts";
import { BatchWriter, type FramedBatch } from "../nf_tables/batch_writer.ts";
import { ElementEncoder } from "./encode_elements.ts";
import { writeAnonymousElement, writeAnonymousSet, writeExpressions } from "./encode_rule.ts";
import type { AnonymousSet, Expression } from "./expressions.ts";
import { type FamilyFacts, familyFacts } from "./family.ts";
import { fieldLayout } from "./fields.ts";
import { lowerRule } from "./lower_rule.ts";
import type {
  NftChain,
  NftElement,
  NftOperation,
  NftRule,
  NftSet,
  NftTable,
} from "./operations.ts";
import { commentUserData, setUserData } from "./user_data.ts";
import {
  ChainAttr,
  ElemListAttr,
  genmsg,
  HookAttr,
  HOOKS,
  Msg,
  RuleAttr,
  SetAttr,
  SetDescAttr,
  SetFlag,
  TableAttr,
  TableFlag,
  TypeId,
} from "../nf_tables/wire.ts";

/** How to encode. */
export interface EncodeOptions {
  /** The definition of a set by name, for its elements. Sets that the batch adds need not be known. */
  readonly setOf: (name: string) => NftSet | undefined;
  /** The kernel refuses the batch when the ruleset has moved on. */
  readonly generation?: number;
}

const NF_ACCEPT = 1;
const NF_DROP = 0;
/** An element list has a 16-bit length; the longest element (two IPv6 keys, a chain, a comment) stays below the rest. */
const ELEMENT_LIST_LIMIT = 64_000;
/** An element of IPv4 with its endpoint. */
const TYPICAL_ELEMENT = 56;

/** Encodes the operations. Throws for what cannot be encoded: a bug of the caller, not of the kernel. */
export function encodeBatch(
  table: NftTable,
  operations: readonly NftOperation[],
  options: EncodeOptions,
): FramedBatch {
  const encoder = new BatchEncoder(table, { ...options, capacity: capacityFor(operations) });
  for (const [index, operation] of operations.entries()) encoder.add(operation, index);
  return encoder.finish();
}

/** Room for the whole batch, as a rule: growing copies what is written. */
function capacityFor(operations: readonly NftOperation[]): number {
  let bytes = 1024;
  for (const operation of operations) {
    bytes += "elements" in operation ? 128 + operation.elements.length * TYPICAL_ELEMENT : 512;
  }
  return bytes;
}

class BatchEncoder {
  readonly #table: NftTable;
  readonly #facts: FamilyFacts;
  readonly #genmsg: Uint8Array;
  readonly #options: EncodeOptions;
  readonly #batch: BatchWriter;
  readonly #writer: MessageWriter;
  readonly #added = new Map<string, NftSet>();
  readonly #elements = new Map<string, ElementEncoder>();
  #operation = -1;
  #setId = 0;

  constructor(table: NftTable, options: EncodeOptions & { readonly capacity: number }) {
    this.#batch = new BatchWriter(options);
    this.#writer = this.#batch.writer;
    this.#table = table;
    this.#facts = familyFacts(table.family);
    this.#genmsg = genmsg(this.#facts.nfproto);
    this.#options = options;
  }

  finish(): FramedBatch {
    return this.#batch.finish();
  }

  add(operation: NftOperation, index: number): void {
    this.#operation = index;
    switch (operation.kind) {
      case "add-table":
        return this.#simple(Msg.newTable, MessageFlag.create, (writer) => {
          writer.string(TableAttr.name, this.#table.name);
          writer.u32be(TableAttr.flags, operation.dormant ? TableFlag.dormant : 0);
        });
      case "delete-table":
        return this.#simple(Msg.delTable, 0, (writer) => {
          writer.string(TableAttr.name, this.#table.name);
        });
      case "add-chain":
        return this.#addChain(operation.chain);
      case "flush-chain":
        return this.#named(Msg.delRule, RuleAttr.chain, operation.chain);
      case "delete-chain":
        return this.#named(Msg.delChain, ChainAttr.name, operation.chain);
      case "add-rule":
        return this.#addRule(operation.rule);
      case "add-set":
        return this.#addSet(operation.set);
      case "delete-set":
        this.#added.delete(operation.set);
        this.#elements.delete(operation.set);
        return this.#named(Msg.delSet, SetAttr.name, operation.set);
      case "flush-set":
        return this.#named(Msg.delSetElem, ElemListAttr.set, operation.set);
      case "add-elements": {
        const encoder = this.#elementEncoder(operation.set);
        return this.#elementMessages(operation, (element) => encoder.add(this.#writer, element));
      }
      case "delete-elements": {
        const encoder = this.#elementEncoder(operation.set);
        return this.#elementMessages(operation, (element) => encoder.remove(this.#writer, element));
      }
      default:
        return assertNever(operation);
    }
  }

  #simple(type: number, flags: number, attributes: (writer: MessageWriter) => void): void {
    this.#batch.begin({ type, flags, genmsg: this.#genmsg, operation: this.#operation });
    attributes(this.#writer);
    this.#batch.end();
  }

  /** A message that needs no more than the table's name (always attribute 1) and the object's. */
  #named(type: number, attribute: number, name: string): void {
    this.#simple(type, 0, (writer) => {
      writer.string(TableAttr.name, this.#table.name);
      writer.string(attribute, name);
    });
  }

  #addChain(chain: NftChain): void {
    this.#simple(Msg.newChain, MessageFlag.create, (writer) => {
      writer.string(ChainAttr.table, this.#table.name);
      writer.string(ChainAttr.name, chain.name);
      if (chain.base) {
        writer.string(ChainAttr.type, chain.base.type);
        writer.u32be(ChainAttr.policy, chain.base.policy === "drop" ? NF_DROP : NF_ACCEPT);
        const hook = writer.beginNested(ChainAttr.hook);
        writer.u32be(HookAttr.number, HOOKS.indexOf(chain.base.hook));
        writer.u32be(HookAttr.priority, chain.base.priority);
        writer.endNested(hook);
      }
      if (chain.comment !== undefined) {
        writer.raw(ChainAttr.userData, commentUserData(chain.comment));
      }
    });
  }

  #addSet(set: NftSet): void {
    this.#added.set(set.name, set);
    this.#elements.delete(set.name);
    this.#simple(Msg.newSet, MessageFlag.create, (writer) => {
      writer.string(SetAttr.table, this.#table.name);
      writer.string(SetAttr.name, set.name);
      writeSetShape(writer, set, this.#facts);
      writer.u32be(SetAttr.id, ++this.#setId);
    });
  }

  /** The sets that belong to the rule go before it, under numbers that hold within the batch. */
  #addRule(rule: NftRule): void {
    const expressions = lowerRule(rule, this.#table.family);
    const ids = new Map<AnonymousSet, number>();
    for (const set of anonymousSets(expressions)) ids.set(set, this.#addAnonymousSet(set));
    const flags = MessageFlag.create | MessageFlag.append;
    this.#simple(Msg.newRule, flags, (writer) => {
      writer.string(RuleAttr.table, this.#table.name);
      writer.string(RuleAttr.chain, rule.chain);
      const list = writer.beginNested(RuleAttr.expressions);
      writeExpressions(writer, expressions, (set) => ids.get(set) ?? 0);
      writer.endNested(list);
      if (rule.comment !== undefined) {
        writer.raw(RuleAttr.userData, commentUserData(rule.comment));
      }
    });
  }

  #addAnonymousSet(set: AnonymousSet): number {
    const id = ++this.#setId;
    this.#simple(Msg.newSet, MessageFlag.create, (writer) => {
      writer.string(SetAttr.table, this.#table.name);
      writeAnonymousSet(writer, set, id);
    });
    this.#elementList({
      type: Msg.newSetElem,
      set: set.isVerdictMap ? "__map%d" : "__set%d",
      setId: id,
      count: set.elements.length,
      write: (index) => writeAnonymousElement(this.#writer, set.elements[index]),
    });
    return id;
  }

  #elementMessages(
    operation: {
      readonly kind: "add-elements" | "delete-elements";
      readonly set: string;
      readonly elements: readonly NftElement[];
    },
    write: (element: NftElement) => void,
  ): void {
    const { elements, set } = operation;
    this.#elementList({
      type: operation.kind === "add-elements" ? Msg.newSetElem : Msg.delSetElem,
      set,
      count: elements.length,
      write: (index) => write(elements[index]),
    });
  }

  /** Starts another message before the list outgrows its length; no elements make no message. */
  #elementList(
    { type, set, setId, count, write }: {
      readonly type: number;
      readonly set: string;
      readonly setId?: number;
      readonly count: number;
      readonly write: (index: number) => void;
    },
  ): void {
    const writer = this.#writer;
    // An existing equal element is fine; one with other data is refused without NLM_F_EXCL too.
    const flags = type === Msg.newSetElem ? MessageFlag.create : 0;
    for (let index = 0; index < count;) {
      const operation = this.#operation;
      this.#batch.begin({ type, flags, genmsg: this.#genmsg, operation, firstElement: index });
      writer.string(ElemListAttr.table, this.#table.name);
      writer.string(ElemListAttr.set, set);
      if (setId !== undefined) writer.u32be(ElemListAttr.setId, setId);
      const list = writer.beginNested(ElemListAttr.elements);
      while (index < count && writer.length - list < ELEMENT_LIST_LIMIT) write(index++);
      writer.endNested(list);
      this.#batch.end();
    }
  }

  #elementEncoder(name: string): ElementEncoder {
    const known = this.#elements.get(name);
    if (known) return known;
    const set = this.#added.get(name) ?? this.#options.setOf(name);
    if (set === undefined || set.key.length === 0) {
      throw new TypeError(`Cannot encode elements of "${name}": the set's type is not known`);
    }
    const encoder = new ElementEncoder(set, this.#table.family);
    this.#elements.set(name, encoder);
    return encoder;
  }
}

function* anonymousSets(expressions: readonly Expression[]): Generator<AnonymousSet> {
  for (const expression of expressions) {
    if (expression.kind === "lookup" && expression.target.kind === "anonymous") {
      yield expression.target.set;
    }
  }
}

/** Flags, types, lengths and user data of a named set. */
function writeSetShape(writer: MessageWriter, set: NftSet, facts: FamilyFacts): void {
  const key = fieldLayout(set.key, facts.name);
  const isRangeConcat = set.interval === true && set.key.length > 1;
  const flags = (set.interval ? SetFlag.interval : 0) | (isRangeConcat ? SetFlag.concat : 0) |
    (set.value !== undefined ? SetFlag.map : 0) |
    (set.dynamicTimeoutSeconds !== undefined ? SetFlag.timeout | SetFlag.dynamic : 0);
  writer.u32be(SetAttr.flags, flags);
  writer.u32be(SetAttr.keyType, key.typeId);
  writer.u32be(SetAttr.keyLength, key.bytes);
  if (set.value === "verdict") {
    writer.u32be(SetAttr.dataType, TypeId.verdict);
    writer.u32be(SetAttr.dataLength, 0);
  } else if (set.value !== undefined) {
    const value = fieldLayout(set.value, facts.name);
    writer.u32be(SetAttr.dataType, value.typeId);
    writer.u32be(SetAttr.dataLength, value.bytes);
  }
  if (set.dynamicTimeoutSeconds !== undefined) {
    // No size: the kernel would make room for all of it at once. It lets the set grow to 65,535.
    writer.u64be(SetAttr.timeout, BigInt(set.dynamicTimeoutSeconds) * 1000n);
  } else if (isRangeConcat) {
    writeFieldLengths(writer, key.places.map(({ size }) => size));
  }
  writer.raw(SetAttr.userData, setUserData(set, facts.name));
}

/** NFTA_SET_DESC_CONCAT: the kernel compares each field by itself. */
function writeFieldLengths(writer: MessageWriter, sizes: readonly number[]): void {
  const FIELD = 1;
  const LENGTH = 1;
  const desc = writer.beginNested(SetAttr.desc);
  const concat = writer.beginNested(SetDescAttr.concat);
  for (const size of sizes) {
    const field = writer.beginNested(FIELD);
    writer.u32be(LENGTH, size);
    writer.endNested(field);
  }
  writer.endNested(concat);
  writer.endNested(desc);
}
