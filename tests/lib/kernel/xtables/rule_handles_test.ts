import assert from "node:assert/strict";
import { RuleHandles } from "../../../../lib/kernel/xtables/rule_handles.ts";

const services = { table: "nat", chain: "KUBE-SERVICES" } as const;
const sameName = { table: "filter", chain: "KUBE-SERVICES" } as const;

function learned(): RuleHandles {
  const handles = new RuleHandles();
  handles.learn(services, [
    { handle: 7n, key: "-j A" },
    { handle: 8n, key: "-j B" },
    { handle: 9n, key: "-j A" },
  ]);
  return handles;
}

Deno.test("RuleHandles gives the handle of each of equal rules once, the first one first", () => {
  const handles = learned();
  const taken = Array.from({ length: 4 }, () => handles.take(services, "-j A"));
  assert.deepEqual(taken, [7n, 9n, undefined, undefined]);
  assert.deepEqual([handles.take(services, "-j B"), handles.take(services, "-j B")], [
    8n,
    undefined,
  ]);
});

Deno.test("RuleHandles knows a rule that was put at the head, of known chains alone", () => {
  const handles = learned();
  handles.inserted(services, { handle: 20n, key: "-j A" });
  handles.inserted(sameName, { handle: 21n, key: "-j A" });
  assert.equal(handles.take(services, "-j A"), 20n);
  assert.equal(handles.take(services, "-j A"), 7n);
  assert.deepEqual([handles.knows(sameName), handles.take(sameName, "-j A")], [false, undefined]);
});

Deno.test("RuleHandles forgets a chain, and no other of its name", () => {
  const handles = learned();
  handles.learn(sameName, [{ handle: 30n, key: "-j C" }]);
  handles.forget(services);
  assert.deepEqual([handles.knows(services), handles.knows(sameName)], [false, true]);
  assert.equal(handles.take(services, "-j A"), undefined);
  assert.equal(handles.take(sameName, "-j C"), 30n);
});
