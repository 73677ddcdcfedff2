/** A dump of elements comes in many messages, with a list in each: here they become one list. */
import { forEachAttribute } from "../netlink/attributes.ts";
import { GrowingBytes } from "./growing_bytes.ts";
import { attributesOf, ElemListAttr } from "./wire.ts";

/** Takes the payloads of a dump as they come, and keeps of them only the elements. */
export class ElementListJoiner {
  readonly #list = new GrowingBytes();

  add(payload: Uint8Array): void {
    forEachAttribute(attributesOf(payload), (type, value) => {
      if (type === ElemListAttr.elements) this.#list.append(value);
    });
  }

  /** The elements of all payloads. */
  get list(): Uint8Array<ArrayBuffer> {
    return this.#list.view();
  }
}

/** The element lists in the payloads of a dump, as one list. */
export function joinElementLists(payloads: readonly Uint8Array[]): Uint8Array {
  const joiner = new ElementListJoiner();
  for (const payload of payloads) joiner.add(payload);
  return joiner.list;
}
