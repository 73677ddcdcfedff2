/**
 * doctor on a modular kernel: whole, without one module, and without nf_tables. What looking loads is
 * unloaded again. A guest's own network is that of its first process.
 */
import assert from "node:assert/strict";
import { runCommand, tryCommand } from "../../kernel/rig/command.ts";
import { Seen } from "../../lib/doctor/showings.ts";
import { type Examination, examine } from "../inside/examination.ts";

const seen = new Seen("modules");
const kernelIds = ["KRN01", "KRN02", "KRN03", "NET05"];
const shop = new URL("../../../examples/shop", import.meta.url).pathname;
const only = (...ids: readonly string[]) => ["--no-cluster", "--only", ids.join(",")];

async function look(args: readonly string[]): Promise<Examination> {
  const told = await examine(args);
  seen.add(told.checks.values());
  return told;
}

async function loadedModules(): Promise<readonly string[]> {
  const text = await Deno.readTextFile("/proc/modules");
  return text.split("\n").map((line) => line.split(" ", 1)[0]).filter(Boolean).sort();
}

/** The files of the module and of all that need it lie elsewhere until this is disposed. */
async function without(module: string): Promise<AsyncDisposable> {
  await unloadAll();
  const release = (await runCommand(["uname", "-r"])).trim();
  const folder = `/lib/modules/${release}`;
  const find = ["find", folder, "-name", `${module}.ko*`];
  const files = (await runCommand(find)).split("\n").filter(Boolean);
  assert.ok(files.length > 0, `this kernel has no module ${module}`);
  for (const file of files) await Deno.rename(file, `${file}.hidden`);
  await runCommand(["depmod", "-a"]);
  return {
    async [Symbol.asyncDispose]() {
      for (const file of files) await Deno.rename(`${file}.hidden`, file);
      await runCommand(["depmod", "-a"]);
    },
  };
}

/** All that belongs to packet filters and that nobody uses. */
async function unloadAll(): Promise<void> {
  for (let left = -1, now = 0; left !== now;) {
    left = now;
    const names = (await loadedModules()).filter((name) =>
      /^(nft?_|ip_vs|ip_set|x_tables)/.test(name)
    );
    for (const name of names) await tryCommand(["modprobe", "-r", name]);
    now = (await loadedModules()).length;
  }
  const names = await loadedModules();
  assert.ok(!names.includes("nf_tables"), `nf_tables is in use: ${names.join(" ")}`);
}

Deno.test("doctor on a whole modular kernel passes, and unloads what looking loaded", async () => {
  await unloadAll();
  const before = await loadedModules();
  const told = await look(only(...kernelIds));
  const said = JSON.stringify([...told.checks.values()]);
  assert.deepEqual(told.verdict, { canMove: true, changes: 0, because: [] }, said);
  assert.equal(told.code, 0);
  for (const id of ["KRN02", "KRN03", "NET05"]) {
    assert.equal(told.checks.get(id)?.result, "pass", JSON.stringify(told.checks.get(id)));
  }
  assert.match(
    told.stderr,
    /^Modules that looking loaded, and that are unloaded again: [^]*nft_numgen/m,
  );
  assert.deepEqual(await loadedModules(), before);
});

Deno.test("doctor with a rehearsal unloads what that loaded", async () => {
  await unloadAll();
  const before = await loadedModules();
  const told = await look(["--manifests", shop, "--only", "KRN03,DRY01"]);
  const rehearsal = told.checks.get("DRY01");
  assert.match(rehearsal?.result ?? "", /pass|warn/, JSON.stringify(rehearsal));
  assert.match(told.stderr, /unloaded again: [^]*nft_masq/);
  assert.deepEqual(await loadedModules(), before, told.stderr);
});

Deno.test("doctor --no-probe loads nothing, and takes what lies below /lib/modules for there", async () => {
  await unloadAll();
  const before = await loadedModules();
  const told = await look([...only(...kernelIds), "--no-probe"]);
  assert.equal(told.checks.get("KRN03")?.result, "pass", JSON.stringify(told.checks.get("KRN03")));
  assert.deepEqual(told.checks.get("KRN03")?.evidence, ["Every module is there"]);
  assert.doesNotMatch(told.stderr, /Modules/);
  assert.deepEqual(await loadedModules(), before);
});

for (const probe of [[], ["--no-probe"]]) {
  Deno.test(`doctor on a kernel that lacks nft_numgen names it alone (${probe.join() || "probing"})`, async () => {
    await using _hidden = await without("nft_numgen");
    const told = await look([...only("KRN02", "KRN03"), ...probe]);
    assert.equal(told.checks.get("KRN02")?.result, "pass");
    const { advice, evidence, result } = told.checks.get("KRN03") ?? {};
    assert.equal(result, "fail", JSON.stringify(told.checks.get("KRN03")));
    assert.ok(evidence?.every((line) => /numgen/.test(line)), evidence?.join("\n"));
    assert.deepEqual(advice, ["modprobe -a nft_numgen"]);
    assert.deepEqual([told.verdict.canMove, told.verdict.because, told.code], [
      false,
      ["KRN03"],
      1,
    ]);
  });
}

Deno.test("doctor tells a module that is there and does not load from one that is missing", async () => {
  await unloadAll();
  const rule = "/etc/modprobe.d/doctor.conf";
  await Deno.mkdir("/etc/modprobe.d", { recursive: true });
  await Deno.writeTextFile(rule, "install nft_numgen /bin/false\n");
  try {
    const told = await look(only("KRN02", "KRN03"));
    assert.equal(told.checks.get("KRN03")?.result, "fail");
    assert.deepEqual([told.verdict.canMove, told.verdict.changes, told.code], [true, 1, 1]);
  } finally {
    await Deno.remove(rule);
  }
});

for (const probe of [[], ["--no-probe"]]) {
  Deno.test(`doctor on a kernel without nf_tables says no (${probe.join() || "probing"})`, async () => {
    await using _hidden = await without("nf_tables");
    const before = await loadedModules();
    const told = await look(["--manifests", shop, "--only", "KRN02,KRN03,DRY01", ...probe]);
    const results = ["KRN02", "KRN03"].map((id) => told.checks.get(id)?.result);
    assert.deepEqual(results, ["fail", "fail"], JSON.stringify([...told.checks.values()]));
    assert.equal(told.verdict.canMove, false);
    assert.deepEqual(told.verdict.because.slice(0, 2), ["KRN02", "KRN03"]);
    assert.equal(told.code, 1);
    assert.notEqual(told.checks.get("DRY01")?.result, "pass");
    assert.deepEqual(await loadedModules(), before);
  });
}

Deno.test("these tests saw all that docs/doctor.md says they show", () => seen.assertAll());
