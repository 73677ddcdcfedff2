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
