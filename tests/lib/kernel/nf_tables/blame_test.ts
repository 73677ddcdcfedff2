/** Which part of a message a kernel complains about, by the offset that it gives. */
import assert from "node:assert/strict";
import { forEachAttribute, readAttributes } from "../../../../lib/kernel/netlink/attributes.ts";
import { BatchWriter, type FramedBatch } from "../../../../lib/kernel/nf_tables/batch_writer.ts";
import { blame } from "../../../../lib/kernel/nf_tables/blame.ts";
import { ElemListAttr, genmsg, Msg, RuleAttr } from "../../../../lib/kernel/nf_tables/wire.ts";
import { encodeBatch } from "../../../../lib/kernel/nftables/encode.ts";
import type { NftOperation, NftSet } from "../../../../lib/kernel/nftables/operations.ts";
import { type Attribute, expression, expressionList } from "./written_attributes.ts";

const table = { family: "ip", name: "kube-proxy" } as const;
const HEADERS = 20;

/** Where each member of a list begins, counted from the message's header. */
function membersOf({ bytes, messages }: FramedBatch, at: number, list: number): readonly number[] {
  const { start } = messages[at];
  const end = start + new DataView(bytes.buffer).getUint32(start, true);
  const value = readAttributes(bytes.subarray(start + HEADERS, end)).get(list);
  assert.ok(value);
  const places: number[] = [];
  forEachAttribute(value, (_, member) => void places.push(member.byteOffset - 4 - start));
  return places;
}

function elementsOf(set: NftSet, keys: readonly string[], kind: "add" | "delete"): FramedBatch {
  const operation: NftOperation = {
    kind: `${kind}-elements`,
    set: set.name,
    elements: keys.map((key) => ({ key: [key] })),
  };
  return encodeBatch(table, [{ kind: "add-table" }, operation], { setOf: () => set });
}

const plain: NftSet = { name: "s", key: ["addr"] };
const tree: NftSet = { name: "t", key: ["addr"], interval: true };

for (const kind of ["add", "delete"] as const) {
  Deno.test(`blame() tells which element a kernel does not ${kind}`, () => {
    const batch = elementsOf(plain, ["10.0.0.1", "10.0.0.2", "10.0.0.3"], kind);
    const blamed = (offset: number) => blame(batch.bytes, batch.messages[2], offset);
    const places = membersOf(batch, 2, ElemListAttr.elements);
    assert.equal(places.length, 3);
    for (const [element, place] of places.entries()) {
      // At its header, and at its last byte.
      assert.deepEqual(blamed(place), { element });
      assert.deepEqual(blamed(place + 12), { element });
    }
    assert.deepEqual(blamed(4), {}, "the header of the message is no element");
    assert.deepEqual(blame(batch.bytes, batch.messages[2], undefined), {});
    assert.deepEqual(blame(batch.bytes, batch.messages[1], 20), {}, "nor is a table");
  });
}

Deno.test("blame() counts the end of an interval to its element", () => {
  const batch = elementsOf(tree, ["10.0.0.0/24", "172.30.0.0/16"], "add");
  const places = membersOf(batch, 2, ElemListAttr.elements);
  assert.deepEqual(
    places.map((place) => blame(batch.bytes, batch.messages[2], place).element),
    [0, 0, 1, 1],
  );
});

Deno.test("blame() goes on counting where an operation took several messages", () => {
  const batch = elementsOf(plain, ["10.0.0.1", "10.0.0.2"], "add");
  const [, second] = membersOf(batch, 2, ElemListAttr.elements);
  const later = { ...batch.messages[2], firstElement: 100 };
  assert.deepEqual(blame(batch.bytes, later, second), { element: 101 });
});

/** A rule with these expressions, the second message of its batch. */
function ruleOf(...expressions: readonly (readonly Attribute[])[]): FramedBatch {
  const batch = new BatchWriter();
  batch.begin({ type: Msg.newRule, flags: 0, genmsg: genmsg(2), operation: 0 });
  batch.writer.string(RuleAttr.table, "kube-proxy");
  batch.writer.raw(RuleAttr.expressions | 0x8000, expressionList(...expressions));
  batch.end();
  return batch.finish();
}

Deno.test("blame() names the expression of a rule, and what of xtables it carries", () => {
  const batch = ruleOf(
    expression("numgen", [1, 1]),
    expression("match", [1, "recent"], [2, 0]),
    expression("target", [2, 0]),
    [[1, "target"]],
    [],
  );
  const places = membersOf(batch, 1, RuleAttr.expressions);
  assert.deepEqual(
    places.map((place) => blame(batch.bytes, batch.messages[1], place).expression),
    ["numgen", "match recent", "target", "target", ""],
  );
  assert.deepEqual(blame(batch.bytes, batch.messages[1], 20), {});
  assert.deepEqual(blame(batch.bytes, batch.messages[1], 9_999), {});
});
