import assert from "node:assert/strict";
import { unloadCaused } from "../../../lib/doctor/caused_modules.ts";
import { FakeLoadedModules } from "../../../lib/kernel/fake_loaded_modules.ts";
import { FakeClock } from "../../fakes/fake_clock.ts";

const idle = (name: string) => ({ name, users: 0 });
const before = new Set(["ext4"]);

Deno.test("modules that looking loaded are unloaded, those that were there stay", async () => {
  const modules = new FakeLoadedModules([idle("nft_ct"), idle("nf_tables"), idle("ext4")]);
  const caused = await unloadCaused(before, { modules, clock: new FakeClock(), patienceMs: 0 });
  assert.deepEqual(caused, { unloaded: ["nft_ct", "nf_tables"], kept: [] });
  assert.deepEqual(modules.list, [idle("ext4")]);
});

Deno.test("a module that somebody uses is waited for, and named when it stays", async () => {
  const clock = new FakeClock();
  const modules = new FakeLoadedModules([
    idle("nft_ct"),
    { name: "nf_tables", users: 2 },
    idle("ext4"),
  ]);
  const unloading = unloadCaused(before, { modules, clock, patienceMs: 4_000 });
  await clock.advance(3_000);
  assert.deepEqual(modules.list.map(({ name }) => name), ["nf_tables", "ext4"]);
  await clock.advance(2_000);
  assert.deepEqual(await unloading, { unloaded: ["nft_ct"], kept: ["nf_tables"] });
});

Deno.test("a module whose last user goes meanwhile is unloaded", async () => {
  const clock = new FakeClock();
  const modules = new FakeLoadedModules([{ name: "nf_tables", users: 1 }]);
  const unloading = unloadCaused(before, { modules, clock, patienceMs: 4_000 });
  await clock.advance(1_000);
  modules.list = [idle("nf_tables")];
  await clock.advance(100);
  assert.deepEqual(await unloading, { unloaded: ["nf_tables"], kept: [] });
});

Deno.test("nothing loaded, nothing done", async () => {
  const modules = new FakeLoadedModules([idle("ext4")]);
  const caused = await unloadCaused(before, { modules, clock: new FakeClock(), patienceMs: 4_000 });
  assert.deepEqual(caused, { unloaded: [], kept: [] });
});
