import assert from "node:assert/strict";
import { parseModules } from "../../../lib/kernel/loaded_modules.ts";

Deno.test("parseModules() reads names and users, in the kernel's order", () => {
  const text = "nft_numgen 16384 0 - Live 0x0000000000000000\n" +
    "nf_tables 368640 3 nft_numgen,nft_ct,nft_chain_nat, Live 0x0000000000000000 (E)\n";
  assert.deepEqual(parseModules(text), [
    { name: "nft_numgen", users: 0 },
    { name: "nf_tables", users: 3 },
  ]);
  assert.deepEqual(parseModules(""), []);
  assert.deepEqual(parseModules("garbage\nnf_tables\nnf_tables x 3 -\n"), []);
});
