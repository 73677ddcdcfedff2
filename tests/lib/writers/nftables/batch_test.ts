import assert from "node:assert/strict";
import {
  BatchBuilder,
  mergeBatches,
  OwnedElements,
} from "../../../../lib/writers/nftables/batch.ts";

const element = (port: number) => ({ key: [port] });

function ownedOf(...owners: readonly (string | undefined)[]): OwnedElements {
  const owned = new OwnedElements();
  for (const [at, owner] of owners.entries()) owned.add(element(at), owner);
  return owned;
}

const operation = (name: string) => ({ kind: "add-chain", chain: { name } } as const);

const refused = { errno: 17, message: "File exists" };

Deno.test("a batch tells whose operation or element was refused", () => {
  const builder = new BatchBuilder();
  builder.add([operation("a"), operation("b")], "test/one");
  builder.addPiece({ kind: "add-elements", set: "service-ips", owned: ownedOf() });
  builder.addPiece({
    kind: "add-elements",
    set: "service-ips",
    owned: ownedOf("test/two", "test/two", "test/three"),
  });
  builder.addPiece({
    kind: "replace-elements",
    set: "service-ips",
    removed: ownedOf("test/four"),
    added: ownedOf("test/four", "test/five"),
  });
  builder.add(operation("c"));
  const batch = builder.build(["test/one"]);
  assert.deepEqual(batch.operations.map(({ kind }) => kind), [
    "add-chain",
    "add-chain",
    "add-elements",
    "delete-elements",
    "add-elements",
    "add-chain",
  ]);
  const ownerOf = (operation: number, element?: number) =>
    batch.ownerOf({ ...refused, operation, ...(element !== undefined && { element }) });
  assert.deepEqual([0, 1, 5].map((at) => ownerOf(at)), ["test/one", "test/one", undefined]);
  assert.deepEqual([0, 1, 2].map((at) => ownerOf(2, at)), ["test/two", "test/two", "test/three"]);
  assert.equal(ownerOf(2), undefined, "nobody knows which of the elements it was");
  assert.deepEqual([ownerOf(3, 0), ownerOf(4, 0), ownerOf(4, 1)], [
    "test/four",
    "test/four",
    "test/five",
  ]);
});

Deno.test("mergeBatches() does all at once, and knows the owners still", () => {
  const [one, two] = ["test/one", "test/two"].map((owner) => {
    const builder = new BatchBuilder();
    builder.add(operation(owner), owner);
    return builder.build([owner]);
  });
  const { operations, owners, ownerOf } = mergeBatches([operation("first")], [one, two, one]);
  assert.deepEqual(owners, ["test/one", "test/two"]);
  assert.deepEqual(operations, ["first", "test/one", "test/two", "test/one"].map(operation));
  assert.deepEqual([0, 1, 2].map((at) => ownerOf({ ...refused, operation: at })), [
    undefined,
    "test/one",
    "test/two",
  ]);
});
