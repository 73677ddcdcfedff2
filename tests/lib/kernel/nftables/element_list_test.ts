import assert from "node:assert/strict";
import { decodeElements } from "../../../../lib/kernel/nftables/decode_elements.ts";
import { ElementList } from "../../../../lib/kernel/nftables/element_list.ts";
import type { NftElement, NftSet } from "../../../../lib/kernel/nftables/operations.ts";

const set: NftSet = { name: "endpoints", key: ["addr", "index"], value: ["addr"] };
const elements = Array.from({ length: 100 }, (_, index): NftElement => ({
  key: ["fd00::1", index],
  value: ["fd00::2"],
}));

Deno.test("an element list grows as elements are added, and has them in their order", () => {
  const list = new ElementList(set, "ip6", 1);
  for (const element of elements) list.add(element);
  assert.equal(list.length, 100);
  assert.deepEqual(decodeElements(list.bytes(), set, "ip6"), elements);
  assert.deepEqual(ElementList.of(set, "ip6", elements).bytes(), list.bytes());
});

Deno.test("an element list has no mark of nesting, as the kernel writes it", () => {
  const [, , low, high] = ElementList.of(set, "ip6", elements).bytes();
  assert.deepEqual([low, high], [1, 0]);
});

Deno.test("an element that does not fit the set is refused", () => {
  assert.throws(() => new ElementList(set, "ip6").add({ key: ["fd00::1", 0] }), /value/);
});
