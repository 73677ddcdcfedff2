import assert from "node:assert/strict";
import { FakeXtables } from "../../../../lib/kernel/xtables/fake.ts";
import type { XtChange } from "../../../../lib/kernel/xtables/rules.ts";
import { checkBehaviour, checkCompositions } from "./behaviour.ts";
import { sampleCounter, sampleRules, sampleSet, sampleTarget } from "./sample_rules.ts";

Deno.test("the fake behaves as the kernel", async (t) => {
  await checkBehaviour(t, () => Promise.resolve(new FakeXtables()));
});

Deno.test("the fake takes every word of the language", async () => {
  const fake = new FakeXtables({
    hasCounter: (name) => name === sampleCounter,
    hasSet: (name) => name === sampleSet.name,
  });
  const changes = sampleRules("IPv6").map(({ rule, table }): XtChange => ({
    kind: "append-rule",
    table,
    chain: "OUTPUT",
    rule,
  }));
  await fake.commit("IPv6", [
    { kind: "add-table", table: "nat" },
    { kind: "add-table", table: "filter" },
    { kind: "add-chain", table: "nat", chain: sampleTarget },
    ...changes,
  ]);
  const listed = await (await fake.read("IPv6", ["nat"])).rules("nat", ["OUTPUT"]);
  const wanted = sampleRules("IPv6").filter(({ table }) => table === "nat");
  assert.deepEqual(listed.get("OUTPUT")?.map(({ key }) => key), wanted.map(({ text }) => text));
});

const add: readonly XtChange[] = [
  { kind: "add-table", table: "nat" },
  { kind: "add-chain", table: "nat", chain: "A" },
  { kind: "add-chain", table: "nat", chain: "B" },
];
const jump = { matches: [], target: { kind: "jump", chain: "B" } } as const;

Deno.test("the fake's families are apart", async () => {
  const fake = new FakeXtables();
  await fake.commit("IPv4", add);
  assert.deepEqual((await fake.read("IPv6", ["nat"])).chains, []);
  assert.equal((await fake.read("IPv4", ["nat", "filter"])).chains.length, 6);
});

Deno.test("the fake's fingerprint moves with a chain's rules and with the jumps to it", async () => {
  const fake = new FakeXtables();
  await fake.commit("IPv4", add);
  const prints = async () =>
    new Map((await fake.read("IPv4", ["nat"])).chains.map((each) => [each.name, each.fingerprint]));
  const before = await prints();
  fake.edit("IPv4", [{ kind: "append-rule", table: "nat", chain: "A", rule: jump }]);
  const after = await prints();
  const moved = [...after].filter(([name, print]) => print !== before.get(name));
  assert.deepEqual(moved.map(([name]) => name), ["A", "B"]);
});

Deno.test("the fake tells which chains differ", async () => {
  const fake = new FakeXtables();
  await fake.commit("IPv4", [
    ...add,
    { kind: "append-rule", table: "nat", chain: "A", rule: jump },
  ]);
  const wanted = new Map([["A", [jump]], ["B", [jump]], ["C", []]]);
  const reading = await fake.read("IPv4", ["nat"]);
  assert.deepEqual(await reading.differing("nat", wanted), ["B", "C"]);
  const turned = new Map([["A", [jump, jump]], ["B", []]]);
  assert.deepEqual(await reading.differing("nat", turned), ["A"]);
});

Deno.test("the fake refuses as it is told, and remembers what it took", async () => {
  const fake = new FakeXtables();
  fake.failNextCommit({ refusal: "locked", message: "Another app is holding the lock" });
  await assert.rejects(fake.commit("IPv6", add), {
    name: "XtablesError",
    message: "Cannot change rules of ip6tables: Another app is holding the lock; another " +
      "program is changing iptables' rules, it is tried again",
  });
  fake.refuse((change) =>
    "chain" in change && change.chain === "B"
      ? { refusal: "unsupported", message: "no such target" }
      : undefined
  );
  await assert.rejects(fake.commit("IPv4", add), {
    message: 'Cannot add chain "B" to iptables table "nat": no such target; load or build the ' +
      "kernel's module for it",
  });
  const receipt = await fake.commit("IPv4", add.slice(0, 2));
  assert.deepEqual(fake.commits, [{ family: "IPv4", changes: add.slice(0, 2) }]);
  assert.equal(receipt?.isOwn, true);
  assert.equal(receipt?.after, await fake.stamp("IPv4"));
  assert.notEqual(receipt?.before, receipt?.after);
  assert.equal(await fake.commit("IPv4", []), undefined);
});

Deno.test("the fake takes changes one by one, and all of them together", async (t) => {
  for (const backend of ["nft", "legacy"] as const) {
    await checkCompositions(t, () => Promise.resolve(new FakeXtables({ backend })));
  }
});
