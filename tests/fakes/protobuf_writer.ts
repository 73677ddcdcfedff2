/** Writes protobuf messages field by field, for tests of the reader. */

/** A field: a number is a varint, text and bytes and nested fields have a length. */
export type Field = readonly [
  number: number,
  value: number | bigint | string | Uint8Array | readonly Field[],
];

/** The bytes of a message with these fields, in this order. */
export function message(fields: readonly Field[]): Uint8Array {
  const bytes: number[] = [];
  for (const [number, value] of fields) {
    if (typeof value === "number" || typeof value === "bigint") {
      bytes.push(...varint(BigInt(number) << 3n), ...varint(BigInt.asUintN(64, BigInt(value))));
      continue;
    }
    const content = typeof value === "string"
      ? new TextEncoder().encode(value)
      : value instanceof Uint8Array
      ? value
      : message(value);
    bytes.push(
      ...varint((BigInt(number) << 3n) | 2n),
      ...varint(BigInt(content.length)),
      ...content,
    );
  }
  return Uint8Array.from(bytes);
}

/** A body in the API's envelope. */
export function body(kind: string, raw: Uint8Array): Uint8Array {
  const envelope = message([[1, [[1, "v1"], [2, kind]]], [2, raw], [3, ""], [4, ""]]);
  return Uint8Array.of(0x6b, 0x38, 0x73, 0x00, ...envelope);
}

/** One frame of a watch. */
export function frame(type: string, object: Uint8Array): Uint8Array {
  const event = message([[1, type], [2, [[1, object]]]]);
  const length = event.length;
  return Uint8Array.of(
    length >> 24,
    length >> 16 & 0xff,
    length >> 8 & 0xff,
    length & 0xff,
    ...event,
  );
}

function varint(value: bigint): number[] {
  const bytes: number[] = [];
  for (; value > 0x7fn; value >>= 7n) bytes.push(Number(value & 0x7fn) | 0x80);
  bytes.push(Number(value));
  return bytes;
}
