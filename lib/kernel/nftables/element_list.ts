/**
 * Elements of one set, gathered one by one. Kept as the bytes that the kernel writes of them, so that
 * a large map costs little memory and equal elements are found as they are (`match_elements.ts`).
 */
import { MessageWriter } from "../netlink/writer.ts";
import { ElementEncoder } from "./encode_elements.ts";
import type { NftElement, NftFamily, NftSet } from "./operations.ts";

export class ElementList {
  readonly #encoder: ElementEncoder;
  readonly #writer: MessageWriter;
  #length = 0;

  /** With room for so many elements; more make room. */
  constructor(set: NftSet, family: NftFamily, expected = 16) {
    this.#encoder = new ElementEncoder(set, family);
    const capacity = expected * this.#encoder.typicalBytes;
    this.#writer = new MessageWriter(capacity, { marksNested: false });
  }

  static of(set: NftSet, family: NftFamily, elements: readonly NftElement[]): ElementList {
    const list = new ElementList(set, family, elements.length);
    for (const element of elements) list.add(element);
    return list;
  }

  get length(): number {
    return this.#length;
  }

  /** Throws where the element does not fit the set. */
  add(element: NftElement): void {
    this.#encoder.add(this.#writer, element);
    this.#length++;
  }

  /** A view, valid until more is added. The list may be longer here than in a message. */
  bytes(): Uint8Array<ArrayBuffer> {
    return this.#writer.bytes();
  }
}
