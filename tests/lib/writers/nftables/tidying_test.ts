import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { NetlinkError } from "../../../../lib/kernel/netlink/errors.ts";
import { OwnCommits } from "../../../../lib/kernel/nf_tables/own_commits.ts";
import { FakeNftables } from "../../../../lib/kernel/nftables/fake.ts";
import type { NftOperation } from "../../../../lib/kernel/nftables/operations.ts";
import { Committer } from "../../../../lib/writers/nftables/committer.ts";
import { tableOf } from "../../../../lib/writers/nftables/names.ts";
import { TableLedger } from "../../../../lib/writers/nftables/table_ledger.ts";
import { deleteUnneeded, emptyChains } from "../../../../lib/writers/nftables/tidying.ts";
import { noSignal } from "./harness.ts";

const table = tableOf("IPv4");
const names = ["a", "b", "c"];

/** A table with these chains, which nobody needs. */
async function withChains(refusal: (operation: NftOperation) => number | undefined) {
  const nftables = new FakeNftables();
  const ledger = new TableLedger();
  await nftables.commit(table, [
    { kind: "add-table" },
    ...names.map((name): NftOperation => ({ kind: "add-chain", chain: { name } })),
  ]);
  for (const name of names) ledger.retire(name, "chain");
  nftables.refuse(refusal);
  const committer = new Committer({ nftables, table, ownCommits: new OwnCommits() });
  const options = { committer, signal: noSignal };
  const chains = async () => (await nftables.listTable(table))?.chains.map(({ name }) => name);
  return { chains, ledger, nftables, options };
}

const chainOf = (operation: NftOperation) =>
  "chain" in operation && typeof operation.chain === "string" ? operation.chain : "";

Deno.test("deleteUnneeded() deletes all at once where the kernel lets it", async () => {
  const { chains, ledger, nftables, options } = await withChains(() => undefined);
  const mark = nftables.commits.length;
  assert.deepEqual(await deleteUnneeded(ledger, names, options), { gone: names, held: [] });
  assert.equal(nftables.commits.length, mark + 1);
  assert.deepEqual(await chains(), []);
});

Deno.test("deleteUnneeded() takes what is not there any more for gone, and deletes the rest", async () => {
  const { chains, ledger, nftables, options } = await withChains(() => undefined);
  await nftables.commit(table, [{ kind: "delete-chain", chain: "b" }]);
  assert.deepEqual(await deleteUnneeded(ledger, names, options), {
    gone: ["b", "a", "c"],
    held: [],
  });
  assert.deepEqual(await chains(), []);
});

Deno.test("deleteUnneeded() leaves what is held, though a part of it seems not to be there", async () => {
  for (const missing of ["flush-chain", "delete-chain"]) {
    const { chains, ledger, options } = await withChains((operation) => {
      if (chainOf(operation) !== "b") return undefined;
      return operation.kind === missing ? Errno.ENOENT : Errno.EBUSY;
    });
    assert.deepEqual(await deleteUnneeded(ledger, names, options), {
      gone: ["a", "c"],
      held: ["b"],
    });
    assert.deepEqual(await chains(), ["b"]);
  }
});

Deno.test("deleteUnneeded() gives up for now when nobody is named", async () => {
  const { chains, ledger, nftables, options } = await withChains(() => undefined);
  nftables.failNextBatch(Errno.ENOBUFS);
  assert.deepEqual(await deleteUnneeded(ledger, names, options), { gone: [], held: names });
  assert.deepEqual(await chains(), names);
});

Deno.test("deleteUnneeded() fails no sync over an answer that got lost, but over anything else", async () => {
  const { ledger, nftables, options } = await withChains(() => undefined);
  const failures = [
    new NetlinkError({ op: "commit", errno: Errno.ENOBUFS }),
    new Error("the worker died"),
  ];
  nftables.commit = () => Promise.reject(failures.shift());
  assert.deepEqual(await deleteUnneeded(ledger, names, options), { gone: [], held: names });
  await assert.rejects(deleteUnneeded(ledger, names, options), /the worker died/);
});

Deno.test("emptyChains() empties what it can", async () => {
  const { nftables, options } = await withChains((operation) =>
    chainOf(operation) === "a" ? Errno.EOPNOTSUPP : undefined
  );
  const mark = nftables.commits.length;
  assert.deepEqual(await emptyChains(names, options), { gone: ["b", "c"], held: ["a"] });
  assert.deepEqual(nftables.commits.slice(mark).flatMap(({ operations }) => operations), [
    { kind: "flush-chain", chain: "b" },
    { kind: "flush-chain", chain: "c" },
  ]);
});
