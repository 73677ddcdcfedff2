import assert from "node:assert/strict";
import {
  PayloadPacker,
  unpackGroups,
  unpackPayloads,
} from "../../../../lib/kernel/nf_tables/packed_payloads.ts";

function payload(length: number, value: number): Uint8Array {
  return new Uint8Array(length).fill(value);
}

Deno.test("PayloadPacker keeps payloads of any length and number in their order", () => {
  const packer = new PayloadPacker();
  const lengths = [0, 1, 5_000, 3, ...Array.from({ length: 500 }, (_, i) => i), 70_000];
  for (const [index, length] of lengths.entries()) packer.add(payload(length, index & 255));
  assert.equal(packer.count, lengths.length);
  const unpacked = unpackPayloads(packer.finish());
  assert.deepEqual(unpacked.map(({ length }) => length), lengths);
  for (const [index, each] of unpacked.entries()) {
    assert.ok(each.every((byte) => byte === (index & 255)), `payload ${index}`);
  }
});

Deno.test("PayloadPacker copies, since a payload is overwritten by the next one", () => {
  const packer = new PayloadPacker();
  const view = payload(4, 1);
  packer.add(view);
  view.fill(2);
  assert.deepEqual(unpackPayloads(packer.finish()), [payload(4, 1)]);
});

Deno.test("PayloadPacker drops what came after the first so many", () => {
  const packer = new PayloadPacker();
  for (const [index, length] of [3, 4, 5].entries()) packer.add(payload(length, index));
  packer.truncate(3);
  packer.truncate(1);
  packer.add(payload(2, 9));
  assert.deepEqual(unpackPayloads(packer.finish()), [payload(3, 0), payload(2, 9)]);
});

Deno.test("unpackGroups() gives each group its own payloads", () => {
  const packer = new PayloadPacker();
  for (const value of [1, 2, 3]) packer.add(payload(value, value));
  const groups = unpackGroups({ payloads: packer.finish(), counts: Uint32Array.of(0, 2, 0, 1) });
  assert.deepEqual(groups, [[], [payload(1, 1), payload(2, 2)], [], [payload(3, 3)]]);
});
