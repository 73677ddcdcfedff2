import assert from "node:assert/strict";
import { Errno } from "../../../lib/kernel/errno.ts";
import { LinuxLoadedModules, parseModules } from "../../../lib/kernel/loaded_modules.ts";
import { replacingLibc } from "../../fakes/recorded_kernel.ts";

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

/** What becomes of `unload`, and the calls that it makes, where the kernel answers so. */
async function unloading(architecture: string, errno: number) {
  const calls: string[] = [];
  const number = Int32Array.of(errno);
  const isGone = await replacingLibc({
    __errno_location: () => Deno.UnsafePointer.of(number),
    syscall: (call, name, flags) => {
      calls.push(`${call} ${new TextDecoder().decode(name as Uint8Array)} ${flags}`);
      return errno === 0 ? 0n : -1n;
    },
  }, () => new LinuxLoadedModules(architecture).unload("nft_numgen"));
  return { calls, isGone };
}

Deno.test("unload() tells whether the module is gone, and waits for nobody", async () => {
  const calls = [`176 nft_numgen\0 ${0x800}`];
  assert.deepEqual(await unloading("x86_64", 0), { calls, isGone: true });
  assert.deepEqual(await unloading("x86_64", Errno.ENOENT), { calls, isGone: true });
  for (const errno of [Errno.EAGAIN, Errno.EPERM]) {
    assert.deepEqual(await unloading("x86_64", errno), { calls, isGone: false });
  }
  const other = [`106 nft_numgen\0 ${0x800}`];
  assert.deepEqual(await unloading("aarch64", 0), { calls: other, isGone: true });
  assert.deepEqual(await unloading("riscv64", 0), { calls: [], isGone: false });
});
