import assert from "node:assert/strict";
import { pieces } from "../../../../lib/kernel/nf_tables/element_cursor.ts";
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
