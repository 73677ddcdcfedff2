import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import { FakeNftables } from "../../../../lib/kernel/nftables/fake.ts";
import { cleanup, findLeftovers, tableOf } from "../../../../lib/writers/nftables/mod.ts";

const [ip, ip6] = [tableOf("IPv4"), tableOf("IPv6")];
const theirs = { family: "ip", name: "kube-proxy-of-somebody-else" } as const;

async function node(): Promise<FakeNftables> {
  const nftables = new FakeNftables();
  for (const table of [ip6, theirs, ip]) await nftables.commit(table, [{ kind: "add-table" }]);
  return nftables;
}

Deno.test("findLeftovers() finds our tables and no other", async () => {
  assert.deepEqual(await findLeftovers(await node()), [ip, ip6]);
  assert.deepEqual(await findLeftovers(new FakeNftables()), []);
});

Deno.test("cleanup() removes our tables and no other, and nothing the second time", async () => {
  const nftables = await node();
  assert.deepEqual(await cleanup(nftables), { removed: [ip, ip6], remaining: [] });
  assert.deepEqual(await nftables.listTables(), [theirs]);
  assert.deepEqual(await cleanup(nftables), { removed: [], remaining: [] });
});

Deno.test("cleanup() goes on after a failure and says what remains", async () => {
  const nftables = await node();
  nftables.refuse((_, table) => table.family === "ip" ? Errno.EBUSY : undefined);
  const { remaining, removed } = await cleanup(nftables);
  assert.deepEqual(removed, [ip6]);
  assert.deepEqual(remaining.map(({ table }) => table), [ip]);
  assert.match(remaining[0].reason, /object is in use \(EBUSY\)/);
});

Deno.test("cleanup() takes a table that vanished meanwhile for removed", async () => {
  const nftables = await node();
  const commit = nftables.commit.bind(nftables);
  nftables.commit = async (table, operations) => {
    await commit(table, [{ kind: "delete-table" }]);
    return await commit(table, operations);
  };
  assert.deepEqual(await cleanup(nftables), { removed: [ip, ip6], remaining: [] });
});
