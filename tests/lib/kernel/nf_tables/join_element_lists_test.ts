import assert from "node:assert/strict";
import { joinElementLists } from "../../../../lib/kernel/nf_tables/join_element_lists.ts";
import { ElemListAttr } from "../../../../lib/kernel/nf_tables/wire.ts";

const header = [2, 0, 0, 7];

function attribute(type: number, ...value: readonly number[]): number[] {
  return [value.length + 4, 0, type, 0, ...value];
}

function payload(...attributes: readonly (readonly number[])[]): Uint8Array {
  return Uint8Array.from([...header, ...attributes.flat()]);
}

Deno.test("joinElementLists() puts the lists of all payloads one behind the other", () => {
  const table = attribute(ElemListAttr.table, 120, 0, 0, 0);
  const payloads = [
    payload(table, attribute(ElemListAttr.elements, 1, 2, 3, 4)),
    payload(table),
    payload(table, attribute(ElemListAttr.elements, 5, 6, 7, 8, 9, 10, 11, 12)),
  ];
  assert.deepEqual([...joinElementLists(payloads)], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  assert.equal(joinElementLists([]).length, 0);
});

Deno.test("joinElementLists() keeps every byte of lists that outgrow its buffer", () => {
  const list = (value: number) => new Array<number>(200).fill(value);
  const payloads = Array.from(
    { length: 100 },
    (_, i) => payload(attribute(ElemListAttr.elements, ...list(i))),
  );
  const joined = joinElementLists(payloads);
  assert.equal(joined.length, 20_000);
  for (const [at, value] of joined.entries()) assert.equal(value, Math.floor(at / 200));
});

Deno.test("joinElementLists() refuses a payload that is cut off", () => {
  const cut = payload(attribute(ElemListAttr.elements, 1, 2, 3, 4)).subarray(0, 10);
  assert.throws(() => joinElementLists([cut]), /says 8 bytes where 6 are expected/);
});
