import assert from "node:assert/strict";
import { NamespacedMap } from "../../../lib/trackers/namespaced_map.ts";

function filled(): NamespacedMap<number> {
  const map = new NamespacedMap<number>();
  map.set("shop", "web", 1);
  map.set("shop", "cart", 2);
  map.set("bank", "web", 3);
  return map;
}

Deno.test("NamespacedMap keeps equal names of namespaces apart", () => {
  const map = filled();
  map.set("shop", "web", 4);
  assert.deepEqual([map.get("shop", "web"), map.get("bank", "web")], [4, 3]);
  assert.deepEqual([map.get("bank", "cart"), map.get("none", "web")], [undefined, undefined]);
  assert.deepEqual([...map.values()], [4, 2, 3]);
  assert.deepEqual([...map.values("shop")], [4, 2]);
  assert.deepEqual([...map.values("none")], []);
});

Deno.test("NamespacedMap deletes one value, whatever else is in its namespace", () => {
  const map = filled();
  map.delete("shop", "none");
  map.delete("none", "web");
  assert.deepEqual([...map.values()], [1, 2, 3]);
  map.delete("shop", "web");
  assert.deepEqual([...map.values("shop")], [2]);
  map.delete("shop", "cart");
  assert.deepEqual([...map.values()], [3]);
});
