/** What in a refused message the kernel complains about, from the offset it gives. */
import type { BatchMessage } from "./encode.ts";
import { forEachAttribute, readAttributes, readString } from "../netlink/attributes.ts";
import { HEADER_BYTES } from "../netlink/messages.ts";
import { ExprAttr } from "./expression_wire.ts";
import { ElemListAttr, GENMSG_BYTES, Msg, RuleAttr } from "./wire.ts";

/** Which element of the operation, or which expression of the rule. */
export interface Blame {
  readonly element?: number;
  readonly expression?: string;
}

/** `offset` counts from the message's header; without it nothing can be said. */
export function blame(
  bytes: Uint8Array,
  message: BatchMessage,
  offset: number | undefined,
): Blame {
  if (offset === undefined) return {};
  const header = new DataView(bytes.buffer, bytes.byteOffset + message.start, HEADER_BYTES);
  const body = bytes.subarray(
    message.start + HEADER_BYTES + GENMSG_BYTES,
    message.start + header.getUint32(0, true),
  );
  const type = header.getUint16(4, true);
  const at = bytes.byteOffset + message.start + offset;
  if (type === Msg.newRule) {
    const expression = attributeAround(body, { list: RuleAttr.expressions, at });
    const name = expression && readAttributes(expression.value).get(ExprAttr.name);
    return name ? { expression: readString(name) } : {};
  }
  if (type !== Msg.newSetElem && type !== Msg.delSetElem) return {};
  const found = attributeAround(body, { list: ElemListAttr.elements, at });
  // Without an index of its own the message belongs to a rule's set.
  if (!found || message.firstElement === undefined) return {};
  return { element: message.firstElement + found.index };
}

/** The member of a list attribute in which a place of the buffer lies. */
function attributeAround(
  body: Uint8Array,
  { list, at }: { readonly list: number; readonly at: number },
): { readonly index: number; readonly value: Uint8Array } | undefined {
  const members = readAttributes(body).get(list);
  let index = 0;
  let found: { readonly index: number; readonly value: Uint8Array } | undefined;
  forEachAttribute(members ?? new Uint8Array(), (_, value) => {
    const start = value.byteOffset - 4;
    if (at >= start && at < value.byteOffset + value.length) found = { index, value };
    index++;
  });
  return found;
}
