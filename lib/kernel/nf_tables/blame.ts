/** What in a refused message the kernel complains about, from the offset it gives. */
import type { BatchMessage } from "./batch_writer.ts";
import { forEachAttribute, readAttributes, readString, readU32be } from "../netlink/attributes.ts";
import { HEADER_BYTES } from "../netlink/messages.ts";
import { ExprAttr, XtAttr } from "./expression_wire.ts";
import { ElemAttr, ElemFlag, ElemListAttr, GENMSG_BYTES, Msg, RuleAttr } from "./wire.ts";

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
    const expression = membersUntil(body, { list: RuleAttr.expressions, at })?.at(-1);
    return expression ? { expression: expressionName(expression) } : {};
  }
  if (type !== Msg.newSetElem && type !== Msg.delSetElem) return {};
  const members = membersUntil(body, { list: ElemListAttr.elements, at });
  if (!members || message.firstElement === undefined) return {};
  // The end of an interval is a member of its own and belongs to the element before it.
  const starts = members.filter((member) => !isIntervalEnd(member)).length;
  return { element: message.firstElement + starts - 1 };
}

/** Its name; for the structures of xtables also theirs: `match recent`. */
function expressionName(expression: Uint8Array): string {
  const parts = readAttributes(expression);
  const name = readString(parts.get(ExprAttr.name) ?? new Uint8Array());
  if (name !== "match" && name !== "target") return name;
  const inner = readAttributes(parts.get(ExprAttr.data) ?? new Uint8Array()).get(XtAttr.name);
  return inner ? `${name} ${readString(inner)}` : name;
}

function isIntervalEnd(member: Uint8Array): boolean {
  const flags = readAttributes(member).get(ElemAttr.flags);
  return flags !== undefined && (readU32be(flags) & ElemFlag.intervalEnd) !== 0;
}

/** The members of a list attribute up to the one in which a place of the buffer lies. */
function membersUntil(
  body: Uint8Array,
  { list, at }: { readonly list: number; readonly at: number },
): readonly Uint8Array[] | undefined {
  const members: Uint8Array[] = [];
  let found = false;
  forEachAttribute(readAttributes(body).get(list) ?? new Uint8Array(), (_, value) => {
    if (found) return;
    members.push(value);
    found = at >= value.byteOffset - 4 && at < value.byteOffset + value.length;
  });
  return found ? members : undefined;
}
