import assert from "node:assert/strict";
import type { NftChain } from "../../../../lib/kernel/nftables/operations.ts";
import { emptyTable, TableIndex } from "../../../../lib/writers/nftables/table_index.ts";

const regular: NftChain = { name: "services" };
const hooked: NftChain = {
  name: "nat-prerouting",
  base: { type: "nat", hook: "prerouting", priority: -100 },
};

for (
  const [isLive, chains] of [[false, []], [false, [regular]], [true, [regular, hooked]], [true, [
    hooked,
  ]]] as const
) {
  const names = chains.map(({ name }) => name).join(" and ") || "no chain";
  Deno.test(`a table with ${names} ${isLive ? "meets" : "does not meet"} packets`, () => {
    const known = new Map(chains.map((chain): [string, NftChain] => [chain.name, chain]));
    assert.equal(new TableIndex({ ...emptyTable, chains: known }).isLive, isLive);
  });
}

const ip = (address: string) => ({ key: [address] });

Deno.test("of elements some of which are missing, those that are there are not written", () => {
  const missing = [ip("172.30.0.2")];
  const index = new TableIndex({
    ...emptyTable,
    differences: new Map([["cluster-ips", { missing, extra: [] }]]),
  });
  const wanted = [ip("172.30.0.1"), ip("172.30.0.2"), ip("172.30.0.3")];
  assert.deepEqual(index.compare("cluster-ips", wanted), { missing, replaced: [] });
});

Deno.test("what nobody wants is taken once, of a map of endpoints too", () => {
  const [cluster, endpoint] = [[ip("172.30.0.9")], [{ key: ["172.30.0.9", "tcp", 80, 0] }]];
  const index = new TableIndex({
    ...emptyTable,
    differences: new Map([
      ["cluster-ips", { missing: [], extra: cluster }],
      ["endpoints", { missing: [], extra: endpoint }],
    ]),
  });
  assert.deepEqual(index.takeRemaining("cluster-ips"), cluster);
  assert.deepEqual(index.takeRemaining("endpoints"), endpoint);
  assert.deepEqual(index.takeRemaining("cluster-ips"), []);
  assert.deepEqual(index.takeRemaining("endpoints"), []);
});

Deno.test("an element that is there in another spelling is not written, and wanted", () => {
  const element = ip("172.30.0.1");
  const index = new TableIndex({
    ...emptyTable,
    differences: new Map([["cluster-ips", { missing: [element], extra: [element] }]]),
  });
  assert.deepEqual(index.compare("cluster-ips", [element]), { missing: [], replaced: [] });
  assert.deepEqual(index.takeRemaining("cluster-ips"), []);
});
