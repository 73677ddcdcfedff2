import assert from "node:assert/strict";
import { ElementCursor, pieces } from "../../../../lib/kernel/nf_tables/element_cursor.ts";
import { ElementEncoder } from "../../../../lib/kernel/nftables/encode_elements.ts";
import { MessageWriter } from "../../../../lib/kernel/netlink/writer.ts";

function listOf(count: number): Uint8Array<ArrayBuffer> {
  const writer = new MessageWriter();
  const encoder = new ElementEncoder({ name: "ips", key: ["addr"] }, "ip");
  for (let i = 0; i < count; i++) encoder.add(writer, { key: [`172.30.0.${i}`] });
  return writer.bytes();
}

const one = listOf(1).length;

for (
  const [count, longest, expected] of [
    [0, one, []],
    [1, one, [one]],
    [5, 2 * one, [2 * one, 2 * one, one]],
    [4, 2 * one + 3, [2 * one, 2 * one]],
    [3, 1, [one, one, one]],
    [3, 10 * one, [3 * one]],
  ] as const
) {
  Deno.test(`pieces() cuts ${count} elements to at most ${longest / one} of their size`, () => {
    const list = listOf(count);
    const cut = [...pieces(list, longest)];
    assert.deepEqual(cut.map(({ length }) => length), expected);
    assert.deepEqual(cut.flatMap((piece) => [...piece]), [...list]);
  });
}

Deno.test("ElementCursor forgets an element with the next one", () => {
  const writer = new MessageWriter();
  const map = { name: "m", key: ["addr"], value: "verdict" } as const;
  new ElementEncoder(map, "ip").add(writer, {
    key: ["172.30.0.1"],
    value: { kind: "goto", chain: "pick-1" },
    comment: "one",
  });
  new ElementEncoder({ name: "s", key: ["addr"] }, "ip").add(writer, { key: ["172.30.0.2"] });
  const cursor = new ElementCursor(writer.bytes());
  assert.equal(cursor.next(), true);
  const first = [cursor.verdictCode, cursor.chain.length, cursor.userData.length > 0];
  assert.deepEqual(first, [0xfffffffc, "pick-1".length + 1, true]);
  assert.equal(new TextDecoder().decode(cursor.view(cursor.chain)), "pick-1\0");
  assert.equal(cursor.next(), true);
  assert.deepEqual([...cursor.view(cursor.key)], [172, 30, 0, 2]);
  assert.deepEqual([cursor.verdictCode, cursor.chain.length, cursor.userData.length], [-1, 0, 0]);
  assert.equal(cursor.next(), false);
  cursor.seek(0);
  assert.deepEqual([...cursor.view(cursor.key)], [172, 30, 0, 1]);
});

Deno.test("ElementCursor finds no key, no end and no value in an element that has none", () => {
  const writer = new MessageWriter();
  const range = { name: "r", key: ["addr", "addr"], value: ["addr"], interval: true } as const;
  new ElementEncoder(range, "ip").add(writer, {
    key: ["172.30.0.1", "10.0.0.0/8"],
    value: ["10.128.0.1"],
  });
  // The catch-all element: NFTA_SET_ELEM_FLAGS alone.
  const element = writer.beginNested(1);
  writer.u32be(3, 2);
  writer.endNested(element);
  const cursor = new ElementCursor(writer.bytes());
  const lengths = () => [cursor.key.length, cursor.keyEnd.length, cursor.data.length];
  assert.equal(cursor.next(), true);
  assert.deepEqual(lengths(), [8, 8, 4]);
  assert.equal(cursor.next(), true);
  assert.deepEqual([...lengths(), cursor.flags], [0, 0, 0, 2]);
});

Deno.test("ElementCursor takes an attribute of a later kernel for none that it knows", () => {
  const writer = new MessageWriter();
  const element = writer.beginNested(1);
  const key = writer.beginNested(1);
  writer.raw(1, Uint8Array.of(172, 30, 0, 1));
  writer.endNested(key);
  // Its lower byte is that of the key.
  const later = writer.beginNested(0x101);
  writer.raw(1, Uint8Array.of(9, 9, 9, 9));
  writer.endNested(later);
  writer.endNested(element);
  const cursor = new ElementCursor(writer.bytes());
  assert.equal(cursor.next(), true);
  assert.deepEqual([...cursor.view(cursor.key)], [172, 30, 0, 1]);
});

Deno.test("ElementCursor refuses an attribute that is longer than what holds it", () => {
  const whole = listOf(1);
  for (const [at, length] of [[0, whole.length + 1], [4, 99], [0, 3]]) {
    const broken = whole.slice();
    new DataView(broken.buffer).setUint16(at, length, true);
    assert.throws(() => new ElementCursor(broken).next(), RangeError);
  }
  // Less than a header is the end.
  assert.equal(new ElementCursor(whole.subarray(0, 3)).next(), false);
});
