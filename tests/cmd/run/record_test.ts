/** What `run` writes down, and what `cleanup` makes of it, as whole programs on a kernel in memory. */
import assert from "node:assert/strict";
import type { FakeKernel } from "../../../lib/kernel/fake_kernel.ts";
import { FakeSysctl } from "../../../lib/kernel/fake_sysctl.ts";
import { parseRecord, type ProxyRecord } from "../../../lib/record/proxy_record.ts";
import { inFolder } from "../../fakes/folder.ts";
import { nodeKernel, ProxyRun, withManifests } from "./proxy_rig.ts";

const localnet = "net/ipv4/conf/all/route_localnet";
const iptables = ["--proxy-mode=iptables", "--iptables-backend=nft"];

function nodeWith(value = "0"): FakeKernel {
  return nodeKernel({ sysctl: new FakeSysctl({ [localnet]: value }) });
}

async function recordIn(folder: string): Promise<ProxyRecord> {
  return parseRecord(await Deno.readTextFile(`${folder}/4026531840.json`));
}

async function cleanUp(kernel: FakeKernel, recordFolder: string, ...args: readonly string[]) {
  await using run = new ProxyRun({
    commandLine: ["cleanup", "--mode=iptables", ...args],
    kernel,
    recordFolder,
  });
  const exitCode = await run.ended();
  return { exitCode, stdout: run.stdout, stderr: run.stderr };
}

/** What iptables mode leaves after a run of its whole life. */
async function afterIptablesMode(kernel: FakeKernel, recordFolder: string): Promise<void> {
  await withManifests({ args: iptables, kernel, recordFolder }, async (run) => {
    await run.said("In sync");
    assert.equal(await run.end(), 0);
  });
}

Deno.test("run writes down who it is, and holds that while it lives", () =>
  inFolder(async (recordFolder) => {
    const kernel = nodeWith();
    await withManifests({ args: iptables, kernel, recordFolder }, async (run) => {
      await run.said("In sync");
      const { backend, mode, process, sysctls } = await recordIn(recordFolder);
      assert.deepEqual([mode, backend, process.pid], ["iptables", "nft", 4321]);
      assert.deepEqual(sysctls, [{ setting: localnet, before: "0", after: "1" }]);
      const refused = await cleanUp(kernel, recordFolder);
      assert.equal(refused.exitCode, 2);
      assert.match(
        refused.stderr,
        /a proxy in iptables mode runs here and keeps the record ".*\/4026531840\.json" \(process 4321\); stop it first, or give --force/,
      );
    });
    const done = await cleanUp(kernel, recordFolder);
    assert.equal(done.exitCode, 0, done.stdout + done.stderr);
  }));

Deno.test("iptables mode and its cleanup leave route_localnet as it was", () =>
  inFolder(async (recordFolder) => {
    const kernel = nodeWith();
    await afterIptablesMode(kernel, recordFolder);
    assert.equal(kernel.sysctl.read(localnet), "1");
    const before = kernel.sysctl.values();
    const dry = await cleanUp(kernel, recordFolder, "--dry-run");
    assert.match(dry.stdout, /set sysctl net\.ipv4\.conf\.all\.route_localnet=0 \(kernel, IPv4\)/);
    assert.deepEqual(kernel.sysctl.values(), before);
    assert.equal((await cleanUp(kernel, recordFolder)).exitCode, 0);
    assert.equal(kernel.sysctl.read(localnet), "0");
    assert.deepEqual([...Deno.readDirSync(recordFolder)], [], "nothing of it is of use any more");
    assert.equal((await cleanUp(kernel, recordFolder)).stdout, "iptables mode: nothing to clean\n");
  }));

Deno.test("run notes nothing where route_localnet was set already, and cleanup leaves it", () =>
  inFolder(async (recordFolder) => {
    const kernel = nodeWith("1");
    await afterIptablesMode(kernel, recordFolder);
    assert.deepEqual((await recordIn(recordFolder)).sysctls, []);
    const { exitCode, stdout } = await cleanUp(kernel, recordFolder);
    assert.equal(exitCode, 0);
    assert.match(stdout, /route_localnet stays 1, as iptables mode sets it: what it was before is/);
    assert.equal(kernel.sysctl.read(localnet), "1");
  }));

Deno.test("without a record route_localnet stays, and is named", () =>
  inFolder(async (recordFolder) => {
    const kernel = nodeWith();
    await afterIptablesMode(kernel, recordFolder);
    const { stdout } = await cleanUp(kernel, `${recordFolder}/none`);
    assert.match(stdout, /"sysctl -w net\.ipv4\.conf\.all\.route_localnet=0" where nothing else/);
    assert.equal(kernel.sysctl.read(localnet), "1");
  }));

Deno.test("run --dry-run writes down nothing", () =>
  inFolder((recordFolder) =>
    withManifests({ args: ["--dry-run"], recordFolder }, async (run) => {
      assert.equal(await run.ended(), 0, run.stderr);
      assert.deepEqual([...Deno.readDirSync(recordFolder)], []);
    })
  ));

Deno.test("run --init-only writes down what it sets; a proxy that takes over keeps the first value", () =>
  inFolder(async (recordFolder) => {
    const kernel = nodeWith();
    const args = [...iptables, "--init-only"];
    await withManifests({ args, kernel, recordFolder }, async (run) => {
      assert.equal(await run.ended(), 0, run.stderr);
    });
    await withManifests({ kernel, recordFolder }, async (run) => {
      await run.said("In sync");
      const { backend, mode, sysctls } = await recordIn(recordFolder);
      assert.deepEqual([mode, backend], ["nftables", "nftables"]);
      assert.deepEqual(sysctls, [{ setting: localnet, before: "0", after: "1" }]);
      assert.equal((await cleanUp(kernel, recordFolder)).exitCode, 0, "that mode does not run");
      assert.equal(kernel.sysctl.read(localnet), "0");
      assert.deepEqual((await recordIn(recordFolder)).sysctls, []);
    });
  }));

Deno.test("a proxy without a folder to write to runs and says so; --cleanup puts back what is known", () =>
  inFolder(async (folder) => {
    const kernel = nodeWith();
    await Deno.writeTextFile(`${folder}/file`, "");
    const args = [...iptables, "--once"];
    await withManifests({ args, kernel, recordFolder: `${folder}/file/x` }, async (run) => {
      assert.equal(await run.ended(), 0, run.stderr);
      assert.match(
        run.stderr,
        /W.*Cannot keep a record of this proxy: kube-proxy cleanup will not/,
      );
    });
    await kernel.sysctl.write(localnet, "0");
    await withManifests({ args, kernel, recordFolder: folder }, async (run) => {
      assert.equal(await run.ended(), 0, run.stderr);
    });
    await using all = new ProxyRun({ commandLine: ["--cleanup"], kernel, recordFolder: folder });
    assert.equal(await all.ended(), 0, all.stderr);
    assert.equal(kernel.sysctl.read(localnet), "0");
  }));
