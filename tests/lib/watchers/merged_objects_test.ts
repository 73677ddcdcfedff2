import assert from "node:assert/strict";
import type { ServiceCIDR } from "../../../lib/kube/objects.ts";
import { MergedObjects, type MergeResult } from "../../../lib/watchers/merged_objects.ts";

function object(name: string, cidr: string): ServiceCIDR {
  return { namespace: "", name, resourceVersion: "", cidrs: [cidr] };
}

function told({ changes }: MergeResult<ServiceCIDR>): readonly string[] {
  return changes.map((change) =>
    change.kind === "delete" ? `-${change.name}` : `+${change.object.name} ${change.object.cidrs}`
  );
}

Deno.test("MergedObjects tells what a file adds, changes and takes away", () => {
  const merged = new MergedObjects<ServiceCIDR>();
  assert.deepEqual(told(merged.setFile("a", [object("x", "1"), object("y", "1")])), [
    "+x 1",
    "+y 1",
  ]);
  assert.deepEqual(told(merged.setFile("a", [object("x", "1"), object("y", "2")])), ["+y 2"]);
  assert.deepEqual(told(merged.setFile("a", [object("y", "2")])), ["-x"]);
  assert.deepEqual(told(merged.setFile("a", [])), ["-y"]);
  assert.deepEqual([...merged.values()], []);
});

Deno.test("MergedObjects takes the object of the later file, whichever was read first", () => {
  for (const order of [["a", "b"], ["b", "a"]]) {
    const merged = new MergedObjects<ServiceCIDR>();
    for (const file of order) merged.setFile(file, [object("x", file)]);
    assert.deepEqual([...merged.values()].map(({ cidrs }) => cidrs), [["b"]]);
    assert.deepEqual(told(merged.setFile("b", [])), ["+x a"]);
    assert.deepEqual(told(merged.setFile("b", [object("x", "b")])), ["+x b"]);
    assert.deepEqual(told(merged.setFile("a", [])), []);
  }
});

Deno.test("MergedObjects says once that two places give an object", () => {
  const merged = new MergedObjects<ServiceCIDR>();
  const first = merged.setFile("a", [object("x", "1"), object("x", "2")]);
  assert.deepEqual(first.duplicates.map(({ used, unused }) => [used, unused]), [["a", "a"]]);
  const second = merged.setFile("b", [object("x", "3")]);
  assert.deepEqual(second.duplicates.map(({ used, unused }) => [used, unused]), [["b", "a"]]);
  assert.deepEqual(merged.setFile("b", [object("x", "4")]).duplicates, []);
});
