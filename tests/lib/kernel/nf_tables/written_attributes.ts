/** Attributes of netlink as a test writes them. */
import { MessageWriter } from "../../../../lib/kernel/netlink/writer.ts";
import { ExprAttr } from "../../../../lib/kernel/nf_tables/expression_wire.ts";
import { ListAttr } from "../../../../lib/kernel/nf_tables/wire.ts";

/** A number is 32 bits in network order, a bigint 64; a list of attributes is nested. */
export type AttributeValue = number | bigint | string | Uint8Array | readonly Attribute[];

/** An attribute's number and its value. */
export type Attribute = readonly [type: number, value: AttributeValue];

/** A rule's expressions, each as its attributes. */
export function expressionList(...expressions: readonly (readonly Attribute[])[]): Uint8Array {
  const writer = new MessageWriter();
  for (const expression of expressions) write(writer, [ListAttr.element, expression]);
  return writer.bytes();
}

/** An expression with its settings. */
export function expression(name: string, ...data: readonly Attribute[]): readonly Attribute[] {
  return [[ExprAttr.name, name], [ExprAttr.data, data]];
}

function write(writer: MessageWriter, [type, value]: Attribute): void {
  if (typeof value === "number") writer.u32be(type, value);
  else if (typeof value === "bigint") writer.u64be(type, value);
  else if (typeof value === "string") writer.string(type, value);
  else if (value instanceof Uint8Array) writer.raw(type, value);
  else {
    const start = writer.beginNested(type);
    for (const each of value) write(writer, each);
    writer.endNested(start);
  }
}

/** What a message holds behind its header: a fixed part, and attributes. */
export function payloadOf(fixed: Uint8Array, attributes: readonly Attribute[]): Uint8Array {
  const writer = new MessageWriter();
  for (const each of attributes) write(writer, each);
  return Uint8Array.from([...fixed, ...writer.bytes()]);
}
