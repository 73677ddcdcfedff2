import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { isNotPermitted, isUncertain } from "../../../../lib/kernel/nf_tables/errors.ts";
import { FakeNftables } from "../../../../lib/kernel/nftables/fake.ts";
import type { NftOperation } from "../../../../lib/kernel/nftables/operations.ts";
import { runCase, stateOf } from "./behaviour.ts";
import { behaviourCases, table } from "./behaviour_cases.ts";
import { refusedWith } from "../nf_tables/refused_with.ts";

for (const row of behaviourCases) {
  Deno.test(`FakeNftables: ${row.name}`, async () => {
    await runCase(new FakeNftables(), row);
  });
}

const small: readonly NftOperation[] = [
  { kind: "add-table" },
  { kind: "add-chain", chain: { name: "a" } },
  { kind: "add-set", set: { name: "ips", key: ["addr"] } },
];

Deno.test("FakeNftables refuses a batch that was based on another generation", async () => {
  const fake = new FakeNftables();
  const generation = await fake.generation();
  await fake.commit(table, small, { generation });
  await assert.rejects(fake.commit(table, small, { generation }), refusedWith(Errno.ERESTART, -1));
  fake.moveGeneration();
  assert.equal(await fake.generation(), generation + 2);
});

Deno.test("FakeNftables fails the next batch as a whole, once", async () => {
  const fake = new FakeNftables();
  fake.failNextBatch(Errno.EPERM);
  await assert.rejects(fake.commit(table, small), isNotPermitted);
  fake.failNextBatch(Errno.ENOBUFS);
  await assert.rejects(fake.commit(table, small), isUncertain);
  assert.equal(await stateOf(fake), "no table");
  await fake.commit(table, small);
  assert.equal(fake.commits.length, 1);
});

Deno.test("FakeNftables fails the operations it is told to, and keeps nothing of the batch", async () => {
  const fake = new FakeNftables();
  fake.refuse((operation) => operation.kind === "add-set" ? Errno.EBUSY : undefined);
  await assert.rejects(fake.commit(table, small), refusedWith(Errno.EBUSY));
  assert.deepEqual(await fake.listTables(), []);
});

Deno.test("FakeNftables throws for elements that do not fit their set", async () => {
  const fake = new FakeNftables();
  await fake.commit(table, small);
  const before = await stateOf(fake);
  const wrong: readonly NftOperation[] = [
    { kind: "add-elements", set: "ips", elements: [{ key: ["fd00::1"] }] },
  ];
  await assert.rejects(fake.commit(table, wrong), RangeError);
  assert.equal(await stateOf(fake), before);
});

Deno.test("FakeNftables refuses lookups with keys of another type, which would never match", async () => {
  const fake = new FakeNftables();
  await fake.commit(table, small);
  const lookup = (select: "daddr" | "dport"): NftOperation => ({
    kind: "add-rule",
    rule: { chain: "a", statements: [{ kind: "match", select: [select], in: { set: "ips" } }] },
  });
  await fake.commit(table, [lookup("daddr")]);
  await assert.rejects(fake.commit(table, [lookup("dport")]), /EINVAL/);
});

Deno.test("FakeNftables as an old kernel holds a chain until the element to it is gone for good", async () => {
  const fake = new FakeNftables({ holdsChainsUntilCommit: true });
  const elements = [{ key: ["172.30.0.1"], value: { kind: "goto", chain: "a" } }] as const;
  await fake.commit(table, [
    ...small,
    { kind: "add-set", set: { name: "map", key: ["addr"], value: "verdict" } },
    { kind: "add-elements", set: "map", elements },
  ]);
  const removal = { kind: "delete-elements", set: "map", elements } as const;
  const deletion = { kind: "delete-chain", chain: "a" } as const;
  await assert.rejects(fake.commit(table, [removal, deletion]), refusedWith(Errno.EBUSY));
  await fake.commit(table, [removal]);
  await fake.commit(table, [deletion]);
});
