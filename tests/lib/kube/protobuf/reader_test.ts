import assert from "node:assert/strict";
import { MalformedMessageError, Reader, TextCache } from "../../../../lib/kube/protobuf/reader.ts";
import { message } from "../../../fakes/protobuf_writer.ts";

function only(value: number | bigint | string): Reader {
  const reader = new Reader(message([[1, value]]), new TextCache());
  assert.equal(reader.next(reader.length), 1);
  return reader;
}

for (const value of [0, 1, 127, 128, 65_535, 2 ** 31 - 1, -1, -(2 ** 31)]) {
  Deno.test(`Reader.int32() reads ${value}`, () => assert.equal(only(value).int32(), value));
}

for (const value of [0, 1_795_006_265, 2 ** 28, 2 ** 53 - 1, -1, -(2 ** 28), -(2 ** 53 - 1)]) {
  Deno.test(`Reader.int64() reads ${value}`, () => assert.equal(only(value).int64(), value));
}

for (const text of ["", "a", "node-1", "x".repeat(500), "größer ✓", "ü".repeat(100)]) {
  const shown = text.length > 20 ? `${text.slice(0, 20)}...` : text;
  Deno.test(`Reader reads "${shown}" as text, shared or not`, () => {
    assert.equal(only(text).text(), text);
    assert.equal(only(text).sharedText(), text);
  });
}

Deno.test("Reader refuses a value of another wire type", () => {
  assert.throws(() => only(1).text(), MalformedMessageError);
  assert.throws(() => only("text").int32(), MalformedMessageError);
  // The first byte of the text alone would be a fine number.
  for (const read of ["int32", "int64", "bool"] as const) {
    assert.throws(() => only("")[read](), /wire type 2 where 0 belongs/, read);
  }
  for (const read of ["enter", "bytes", "text", "sharedText"] as const) {
    assert.throws(() => only(0)[read](), /wire type 0 where 2 belongs/, read);
  }
});

Deno.test("Reader refuses numbers that never end", () => {
  const reader = new Reader(new Uint8Array(20).fill(0xff), new TextCache());
  assert.throws(() => reader.next(reader.length), MalformedMessageError);
});

Deno.test("TextCache tells texts of one hash apart", () => {
  const cache = new TextCache();
  const texts = Array.from({ length: 20_000 }, (_, i) => `node-${i}`);
  for (const text of texts) {
    const bytes = new TextEncoder().encode(text);
    assert.equal(cache.shared(bytes, { start: 0, end: bytes.length }), text);
  }
});

Deno.test("Reader passes over values of every width", () => {
  const fixed = (
    wire: number,
    bytes: number,
  ) => [9 << 3 | wire, ...Array<number>(bytes).fill(0xff)];
  for (
    const unread of [fixed(1, 8), fixed(5, 4), [...message([[9, "text"]])], [
      ...message([[9, 300]]),
    ]]
  ) {
    const reader = new Reader(Uint8Array.of(...unread, ...message([[1, 7]])), new TextCache());
    assert.equal(reader.next(reader.length), 9);
    reader.skip();
    assert.equal(reader.next(reader.length), 1);
    assert.equal(reader.int32(), 7);
  }
});
