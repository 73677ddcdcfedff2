import assert from "node:assert/strict";
import { FakeNftables } from "../../../lib/kernel/nftables/fake.ts";
import { runCase } from "../../lib/kernel/nftables/behaviour.ts";
import { behaviourCases, table } from "../../lib/kernel/nftables/behaviour_cases.ts";
import { NftNamespace } from "./namespace.ts";

Deno.test("the kernel accepts and refuses what the fake accepts and refuses", async (t) => {
  await using namespace = await NftNamespace.create();
  using nftables = namespace.open();
  for (const row of behaviourCases) {
    await t.step(row.name, async () => {
      try {
        const state = await runCase(nftables, row);
        assert.equal(state, await runCase(new FakeNftables(), row));
      } finally {
        await nftables.commit(table, [{ kind: "add-table" }, { kind: "delete-table" }]);
      }
    });
  }
});
