/**
 * Elements of named sets as netlink attributes. One encoder serves many elements of one set and
 * writes its keys into the same two buffers, since a node's largest map has a hundred thousand of them.
 *
 * Three shapes: exact keys; an interval of a single field, which the kernel keeps as a start and an
 * end element; and intervals of concatenated fields, one element with a first and a last key.
 */
import type { MessageWriter } from "../netlink/writer.ts";
import { increment } from "./bytes.ts";
import { type FieldLayout, fieldLayout, writeFieldRanges, writeFields } from "./fields.ts";
import type { NftElement, NftFamily, NftSet, NftVerdict } from "./operations.ts";
import { commentUserData, openIntervalUserData } from "./user_data.ts";
import {
  DataAttr,
  ElemAttr,
  ElemFlag,
  ListAttr,
  VerdictAttr,
  VerdictCode,
} from "../nf_tables/wire.ts";

/** Encodes elements of one set. */
export class ElementEncoder {
  readonly #set: NftSet;
  readonly #key: FieldLayout;
  readonly #value: FieldLayout | undefined;
  readonly #first: Uint8Array;
  readonly #last: Uint8Array;
  readonly #data: Uint8Array;

  constructor(set: NftSet, family: NftFamily) {
    this.#set = set;
    this.#key = fieldLayout(set.key, family);
    this.#first = new Uint8Array(this.#key.bytes);
    this.#last = new Uint8Array(this.#key.bytes);
    if (set.value !== undefined && set.value !== "verdict") {
      this.#value = fieldLayout(set.value, family);
    }
    this.#data = new Uint8Array(this.#value?.bytes ?? 0);
  }

  /** What an element takes in a message, comments aside: to make room for many at once. */
  get typicalBytes(): number {
    const attributes = 16;
    const value = this.#set.value === undefined ? 0 : this.#value ? 8 + this.#data.length : 36;
    return attributes + this.#first.length * (this.#set.interval ? 3 : 1) + value;
  }

  /** Appends the element to the open element list, with its value. Throws when it does not fit the set. */
  add(writer: MessageWriter, element: NftElement): void {
    this.#checkValue(element);
    this.#write(writer, element, true);
  }

  /** Appends what names the element for its deletion. */
  remove(writer: MessageWriter, element: NftElement): void {
    this.#write(writer, element, false);
  }

  #write(writer: MessageWriter, element: NftElement, complete: boolean): void {
    if (element.key.length === 0) {
      const start = writer.beginNested(ListAttr.element);
      writer.u32be(ElemAttr.flags, ElemFlag.catchAll);
      if (complete) this.#writeRest(writer, element);
      return writer.endNested(start);
    }
    if (!this.#set.interval) {
      writeFields(this.#key, element.key, this.#first);
      const start = this.#begin(writer);
      if (complete) this.#writeRest(writer, element);
      writer.endNested(start);
      return;
    }
    writeFieldRanges(this.#key, element.key, { first: this.#first, last: this.#last });
    const start = this.#begin(writer);
    if (this.#key.places.length > 1) {
      const keyEnd = writer.beginNested(ElemAttr.keyEnd);
      writer.raw(DataAttr.value, this.#last);
      writer.endNested(keyEnd);
      if (complete) this.#writeRest(writer, element);
      writer.endNested(start);
    } else {
      this.#writeTreeInterval(writer, { element, start, complete });
    }
  }

  /** The end element stands one behind the last address; an interval up to the highest has none. */
  #writeTreeInterval(
    writer: MessageWriter,
    { element, start, complete }: {
      readonly element: NftElement;
      readonly start: number;
      readonly complete: boolean;
    },
  ): void {
    const open = !increment(this.#last);
    if (complete) {
      this.#writeValue(writer, element);
      if (open) writer.raw(ElemAttr.userData, openIntervalUserData(element.comment));
      else this.#writeComment(writer, element);
    }
    writer.endNested(start);
    if (open) return;
    const end = writer.beginNested(ListAttr.element);
    writer.u32be(ElemAttr.flags, ElemFlag.intervalEnd);
    const key = writer.beginNested(ElemAttr.key);
    writer.raw(DataAttr.value, this.#last);
    writer.endNested(key);
    writer.endNested(end);
  }

  /** Opens the element and writes its (first) key. */
  #begin(writer: MessageWriter): number {
    const start = writer.beginNested(ListAttr.element);
    const key = writer.beginNested(ElemAttr.key);
    writer.raw(DataAttr.value, this.#first);
    writer.endNested(key);
    return start;
  }

  #writeRest(writer: MessageWriter, element: NftElement): void {
    this.#writeValue(writer, element);
    if (element.timeoutSeconds !== undefined) {
      writer.u64be(ElemAttr.timeout, BigInt(element.timeoutSeconds) * 1000n);
    }
    this.#writeComment(writer, element);
  }

  #writeValue(writer: MessageWriter, { value }: NftElement): void {
    if (value === undefined) return;
    const data = writer.beginNested(ElemAttr.data);
    if ("kind" in value) {
      writeVerdict(writer, value);
    } else if (this.#value) {
      writeFields(this.#value, value, this.#data);
      writer.raw(DataAttr.value, this.#data);
    }
    writer.endNested(data);
  }

  #writeComment(writer: MessageWriter, { comment }: NftElement): void {
    if (comment !== undefined) writer.raw(ElemAttr.userData, commentUserData(comment));
  }

  #checkValue(element: NftElement): void {
    const has = element.value === undefined
      ? "no value"
      : "kind" in element.value
      ? "a verdict"
      : "data";
    const wants = this.#set.value === undefined
      ? "no value"
      : this.#set.value === "verdict"
      ? "a verdict"
      : "data";
    if (has === wants) return;
    throw new TypeError(
      `Cannot encode element "${element.key.join(" . ")}" of "${this.#set.name}": ` +
        `it has ${has} where ${wants} is expected`,
    );
  }
}

/** Writes NFTA_DATA_VERDICT. */
export function writeVerdict(writer: MessageWriter, verdict: NftVerdict): void {
  const start = writer.beginNested(DataAttr.verdict);
  writer.u32be(VerdictAttr.code, VerdictCode[verdict.kind]);
  if (verdict.kind === "jump" || verdict.kind === "goto") {
    writer.string(VerdictAttr.chain, verdict.chain);
  }
  writer.endNested(start);
}
