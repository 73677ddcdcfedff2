import assert from "node:assert/strict";
import { readNamespaceFacts, readNamespaceList } from "../../../lib/namespaces/facts.ts";

const label = "networking.k8s.io/kube-proxy";
const created = "2026-01-01T00:00:00Z";
const later = "2026-02-03T04:05:06Z";

function entry(manager: string, time: string | undefined, labels: readonly string[]) {
  const fields = Object.fromEntries(labels.map((name) => [`f:${name}`, {}]));
  return {
    manager,
    operation: "Update",
    time,
    fieldsV1: { "f:metadata": { "f:labels": { ".": {}, ...fields } } },
  };
}

const cases: readonly {
  readonly name: string;
  readonly managedFields?: readonly unknown[];
  readonly since: string | undefined;
  readonly managers: readonly string[];
}[] = [
  { name: "no managed fields", since: undefined, managers: [] },
  {
    name: "a manager with nothing else",
    managedFields: [entry("kube-proxy-namespaces", later, [label])],
    since: later,
    managers: ["kube-proxy-namespaces"],
  },
  {
    name: "a manager with other fields, which may have been written later",
    managedFields: [entry("helm", later, [label, "team"])],
    since: undefined,
    managers: ["helm"],
  },
  {
    name: "the creator, which has not written since",
    managedFields: [entry("kubectl-create", created, [label, "team"])],
    since: created,
    managers: ["kubectl-create"],
  },
  {
    name: "two managers, the first counts",
    managedFields: [entry("b", later, [label]), entry("a", created, [label, "team"])],
    since: created,
    managers: ["a", "b"],
  },
  {
    name: "two managers, one of them cannot tell",
    managedFields: [entry("b", created, [label]), entry("a", later, [label, "team"])],
    since: undefined,
    managers: ["a", "b"],
  },
  {
    name: "an entry without a time",
    managedFields: [entry("old", undefined, [label])],
    since: undefined,
    managers: ["old"],
  },
  {
    name: "managers of other labels",
    managedFields: [entry("helm", later, ["team"])],
    since: undefined,
    managers: [],
  },
];

Deno.test("readNamespaceFacts() tells since when the label is there, or does not", async (test) => {
  for (const { name, managedFields, since, managers } of cases) {
    await test.step(name, () => {
      const facts = readNamespaceFacts({
        metadata: {
          name: "shop",
          creationTimestamp: created,
          labels: { [label]: "disabled" },
          managedFields,
        },
      });
      assert.equal(facts.since, since);
      assert.deepEqual(facts.managers, managers);
      assert.equal(facts.optedOut, true);
    });
  }
});

Deno.test("readNamespaceFacts() takes the exact value alone for out", () => {
  for (const value of ["Disabled", "true", "", "enabled"]) {
    const facts = readNamespaceFacts({ metadata: { name: "shop", labels: { [label]: value } } });
    assert.equal(facts.optedOut, false);
    assert.equal(facts.value, value);
  }
  assert.equal(readNamespaceFacts({ metadata: { name: "shop" } }).value, undefined);
});

Deno.test("readNamespaceList() is in the order of the names, and refuses what is no list", () => {
  const items = ["b", "c", "a"].map((name) => ({ metadata: { name } }));
  assert.deepEqual(readNamespaceList({ items }).map(({ name }) => name), ["a", "b", "c"]);
  assert.throws(() => readNamespaceList({ items: "x" }), /must be a list/);
});
