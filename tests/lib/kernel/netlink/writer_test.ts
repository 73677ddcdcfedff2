import assert from "node:assert/strict";
import {
  forEachAttribute,
  readAttributes,
  readList,
  readString,
  readU16be,
  readU32,
  readU32be,
  readU64be,
  readU8,
} from "../../../../lib/kernel/netlink/attributes.ts";
import { readMessages } from "../../../../lib/kernel/netlink/messages.ts";
import { MessageWriter } from "../../../../lib/kernel/netlink/writer.ts";

const header = { type: 0x10, flags: 5, sequence: 7 };
const FAMILY = Uint8Array.of(2, 0, 0, 9);

function attributesOf(writer: MessageWriter): Uint8Array {
  const [message] = [...readMessages(writer.bytes())];
  return message.payload.subarray(FAMILY.length);
}

Deno.test("what MessageWriter writes, the readers read", () => {
  const writer = new MessageWriter(16);
  writer.begin(header, FAMILY);
  writer.u8(1, 0xfe);
  writer.u16(2, 0x1234);
  writer.u16be(3, 0x1234);
  writer.u32(4, 0xfffffffe);
  writer.u32be(5, 0xfffffffe);
  writer.u64be(7, 1n);
  writer.string(8, "größe");
  writer.raw(9, Uint8Array.of(1, 2, 3));
  writer.raw(12, Uint8Array.of(1, 2, 3), 7);
  writer.flag(10);
  const nested = writer.beginNested(11);
  writer.u8(1, 4);
  writer.u8(1, 5);
  writer.endNested(nested);
  writer.end();
  const found = readAttributes(attributesOf(writer));
  const value = (type: number) => found.get(type) ?? new Uint8Array();
  assert.equal(readU8(value(1)), 0xfe);
  assert.deepEqual(value(2), Uint8Array.of(0x34, 0x12));
  assert.equal(readU16be(value(3)), 0x1234);
  assert.equal(readU32(value(4)), 0xfffffffe);
  assert.equal(readU32be(value(5)), 0xfffffffe);
  assert.equal(readU64be(value(7)), 1n);
  assert.equal(readString(value(8)), "größe");
  assert.deepEqual(value(9), Uint8Array.of(1, 2, 3));
  assert.deepEqual(value(12), Uint8Array.of(1, 2, 3, 0, 0, 0, 0));
  assert.equal(value(10).length, 0);
  assert.deepEqual(readList(value(11), 1).map(readU8), [4, 5]);
});

Deno.test("MessageWriter frames messages as the kernel wants them, padding cleared", () => {
  const writer = new MessageWriter(8);
  writer.begin(header, FAMILY);
  writer.raw(1, Uint8Array.of(0xff, 0xff, 0xff, 0xff));
  writer.raw(2, new Uint8Array(20).fill(0xff));
  writer.end();
  writer.reset();
  writer.begin(header, FAMILY);
  writer.raw(1, Uint8Array.of(1), 16);
  writer.end();
  assert.deepEqual([...attributesOf(writer).subarray(4)], [1, ...new Array(15).fill(0)]);
  writer.reset();
  writer.begin(header, FAMILY);
  writer.u8(1, 0xaa);
  writer.end();
  writer.begin({ ...header, sequence: 8 }, FAMILY);
  writer.end();
  const hex = [...writer.bytes()].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  assert.equal(
    hex,
    "1c000000" + "10000500" + "07000000" + "00000000" + "02000009" + "05000100aa000000" +
      "14000000" + "10000500" + "08000000" + "00000000" + "02000009",
  );
  assert.equal([...readMessages(writer.bytes())].length, 2);
});

Deno.test("MessageWriter refuses an attribute that outgrows its 16-bit length", () => {
  const writer = new MessageWriter();
  writer.begin(header, FAMILY);
  assert.throws(() => writer.raw(1, new Uint8Array(65_532)), /65536 bytes do not fit/);
  assert.throws(() => writer.string(1, "x".repeat(70_000)), /do not fit/);
  const longest = new MessageWriter();
  longest.begin(header, FAMILY);
  longest.raw(1, new Uint8Array(65_531));
  longest.string(2, "x".repeat(65_530));
  longest.end();
  const sizes = [...readAttributes(attributesOf(longest)).values()].map(({ length }) => length);
  assert.deepEqual(sizes, [65_531, 65_531]);
  assert.throws(() => longest.string(2, "x".repeat(65_531)), /65536 bytes do not fit/);
  const nested = writer.beginNested(1);
  for (let i = 0; i < 3; i++) writer.raw(1, new Uint8Array(30_000));
  assert.throws(() => writer.endNested(nested), /do not fit/);
});

const malformed: readonly { name: string; bytes: readonly number[] }[] = [
  { name: "a length below the header's", bytes: [3, 0, 1, 0] },
  { name: "a length of zero", bytes: [0, 0, 1, 0, 0, 0, 0, 0] },
  { name: "a length behind the end", bytes: [9, 0, 1, 0, 0, 0, 0, 0] },
  { name: "a second attribute cut off", bytes: [4, 0, 1, 0, 8, 0, 1, 0] },
];
for (const { name, bytes } of malformed) {
  Deno.test(`forEachAttribute() throws on ${name}`, () => {
    assert.throws(() => forEachAttribute(Uint8Array.from(bytes), () => {}), RangeError);
  });
}

Deno.test("readers of numbers throw on a value that is too short", () => {
  assert.throws(() => readU32be(Uint8Array.of(1, 2)), RangeError);
  assert.throws(() => readU64be(Uint8Array.of(1, 2, 3, 4)), RangeError);
  assert.throws(() => readU8(new Uint8Array()), RangeError);
});

Deno.test("MessageWriter grows for texts, however many bytes their letters take", () => {
  for (const text of ["a", "ü".repeat(40), "✓".repeat(40), "x".repeat(200)]) {
    for (const capacity of [16, 24, 64, 120]) {
      const writer = new MessageWriter(capacity);
      writer.begin(header, FAMILY);
      writer.string(1, text);
      writer.u32be(2, 7);
      writer.end();
      const found = readAttributes(attributesOf(writer));
      assert.equal(readString(found.get(1) ?? new Uint8Array()), text);
      assert.equal(readU32be(found.get(2) ?? new Uint8Array()), 7);
    }
  }
});
