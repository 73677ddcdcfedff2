import assert from "node:assert/strict";
import { excludeNamespaces, exclusionSelector } from "../../../lib/watchers/exclusion.ts";

Deno.test("exclusionSelector() adds the namespaces to the resource's own selector, sorted", () => {
  const exclusion = excludeNamespaces(["b", "a"]);
  assert.equal(
    exclusionSelector("spec.clusterIP!=None", exclusion),
    "spec.clusterIP!=None,metadata.namespace!=a,metadata.namespace!=b",
  );
  assert.equal(exclusionSelector("", excludeNamespaces([])), "");
});

const limits = [
  { name: "150 names", count: 2_000, length: 5, atServer: 150 },
  { name: "6 KB", count: 2_000, length: 63, atServer: 71 },
  { name: "all there are", count: 3, length: 5, atServer: 3 },
];

for (const { name, count, length, atServer } of limits) {
  Deno.test(`excludeNamespaces() leaves out at most ${name} at the server`, () => {
    const names = Array.from({ length: count }, (_, i) => String(i).padStart(length, "n"));
    const exclusion = excludeNamespaces(names);
    assert.equal(exclusion.all.length, count);
    assert.equal(exclusion.atServer.length, atServer);
    assert.ok(exclusionSelector("", exclusion).length <= 6_000);
  });
}
