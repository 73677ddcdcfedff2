import assert from "node:assert/strict";
import { readFirewall } from "../../../../lib/kernel/firewall/read_firewall.ts";

/** Reads while no worker can be started: whoever asks nf_tables fails. */
async function withoutWorkers(asksNft: boolean): Promise<unknown> {
  const { Worker } = globalThis;
  globalThis.Worker = class {
    constructor() {
      throw new Error("a worker was started");
    }
  } as unknown as typeof Worker;
  try {
    return await readFirewall({ asksNft, wantsRules: () => false });
  } finally {
    globalThis.Worker = Worker;
  }
}

Deno.test("readFirewall() asks nf_tables only where that is wanted, since it loads the module", async () => {
  assert.ok(Array.isArray(await withoutWorkers(false)));
  await assert.rejects(withoutWorkers(true), /a worker was started/);
});
