import assert from "node:assert/strict";
import { FakeHost } from "../../../lib/kernel/fake_host.ts";
import { FakeKernel } from "../../../lib/kernel/fake_kernel.ts";
import { FakeSelf } from "../../../lib/kernel/fake_self.ts";
import { FakeSysctl } from "../../../lib/kernel/fake_sysctl.ts";
import { SysctlError } from "../../../lib/kernel/sysctl.ts";
import type { RecordedSetting } from "../../../lib/record/proxy_record.ts";
import { RecordFile } from "../../../lib/record/record_file.ts";
import { keepRecord } from "../../../lib/record/record_keeper.ts";
import { FakeLogger } from "../../fakes/fake_logger.ts";
import { inFolder } from "../../fakes/folder.ts";
import { exampleRecord } from "../../fakes/proxy_records.ts";

const localnet = "net/ipv4/conf/all/route_localnet";
const { backend, mode, process, version } = exampleRecord;
const identity = { mode, backend, version, process };

function kernelWith(value = "0", host = new FakeHost()): FakeKernel {
  return new FakeKernel({ sysctl: new FakeSysctl({ [localnet]: value }), host });
}

async function settingsIn(folder: string, kernel = kernelWith()) {
  const reading = await RecordFile.of(kernel, folder).read();
  return reading.kind === "record" ? reading.record.sysctls : reading.kind;
}

function keep(folder: string, kernel: FakeKernel, logger = new FakeLogger()) {
  return keepRecord({ folder, kernel, identity, logger });
}

Deno.test("keepRecord() writes who runs, and a setting before it is changed", () =>
  inFolder(async (parent) => {
    const folder = `${parent}/made/by/it`;
    const kernel = kernelWith();
    using kept = await keep(folder, kernel);
    assert.deepEqual(await RecordFile.of(kernel, folder).read(), {
      kind: "record",
      record: { ...exampleRecord, sysctls: [] },
    });
    let atWrite: readonly RecordedSetting[] = [];
    const { sysctl } = kernel;
    const write = sysctl.write.bind(sysctl);
    sysctl.write = (setting, value) => {
      const text = Deno.readTextFileSync(`${folder}/4026531840.json`);
      atWrite = JSON.parse(text).sysctls;
      write(setting, value);
    };
    kept.kernel.sysctl.write(localnet, "1");
    assert.deepEqual(atWrite, exampleRecord.sysctls);
    assert.equal(kept.kernel.sysctl.read(localnet), "1");
    const { mode } = await Deno.stat(`${folder}/4026531840.json`);
    assert.equal((mode ?? 0) & 0o777, 0o600);
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), [
      "4026531840.json",
      "4026531840.lock",
    ]);
  }));

Deno.test("keepRecord() keeps the first value of a start of the machine, however many proxies follow", () =>
  inFolder(async (folder) => {
    const kernel = kernelWith();
    for (const value of ["1", "2", "2", "3"]) {
      using kept = await keep(folder, kernel);
      kept.kernel.sysctl.write(localnet, value);
    }
    assert.deepEqual(await settingsIn(folder), [{ setting: localnet, before: "0", after: "3" }]);
  }));

Deno.test("keepRecord() begins anew after another start of the machine, and in another namespace", () =>
  inFolder(async (folder) => {
    const first = kernelWith();
    (await keep(folder, first)).kernel.sysctl.write(localnet, "1");
    const rebooted = kernelWith("5", new FakeHost({ bootId: "another" }));
    using kept = await keep(folder, rebooted);
    assert.deepEqual(await settingsIn(folder, rebooted), []);
    kept.kernel.sysctl.write(localnet, "1");
    assert.deepEqual(await settingsIn(folder, rebooted), [
      { setting: localnet, before: "5", after: "1" },
    ]);
    assert.equal(await settingsIn(folder), "none", "as the first start sees it");
    const self = new FakeSelf({ networkNamespace: { inode: 7 } });
    const elsewhere = new FakeKernel({ self });
    using _ = await keep(folder, elsewhere);
    assert.deepEqual(await settingsIn(folder, elsewhere), []);
    assert.deepEqual((await settingsIn(folder, rebooted)).length, 1, "files do not meet");
  }));

Deno.test("keepRecord() notes no write that changes nothing, and passes on what the kernel refuses", () =>
  inFolder(async (folder) => {
    const kernel = kernelWith("1");
    using kept = await keep(folder, kernel);
    kept.kernel.sysctl.write(localnet, "1");
    assert.throws(() => kept.kernel.sysctl.write("net/nothing", "1"), SysctlError);
    assert.deepEqual(await settingsIn(folder), []);
  }));

Deno.test("keepRecord() replaces garbage, and says so", () =>
  inFolder(async (folder) => {
    const logger = new FakeLogger();
    await Deno.writeTextFile(`${folder}/4026531840.json`, "{ garbage");
    using _ = await keep(folder, kernelWith(), logger);
    assert.deepEqual(await settingsIn(folder), []);
    assert.match(logger.lines.join("\n"), /Replaced a record that cannot be used.*it is not JSON/);
  }));

Deno.test("keepRecord() says once that nothing can be written, and lets the proxy set what it needs", () =>
  inFolder(async (folder) => {
    const logger = new FakeLogger();
    await Deno.writeTextFile(`${folder}/file`, "");
    const kernel = kernelWith();
    using kept = await keep(`${folder}/file`, kernel, logger);
    assert.equal(logger.lines.length, 1);
    for (const value of ["2", "1"]) kept.kernel.sysctl.write(localnet, value);
    assert.equal(kernel.sysctl.read(localnet), "1");
    assert.equal(logger.lines.join("\n").match(/Cannot keep a record of this proxy/g)?.length, 1);
  }));

Deno.test("a record is held while its proxy lives, by several at a time", () =>
  inFolder(async (folder) => {
    const kernel = kernelWith();
    const file = RecordFile.of(kernel, folder);
    assert.equal(file.isHeld(), false, "there is none");
    const [first, second] = [await keep(folder, kernel), await keep(folder, kernel)];
    assert.equal(file.isHeld(), true);
    first[Symbol.dispose]();
    assert.equal(file.isHeld(), true);
    second[Symbol.dispose]();
    assert.equal(file.isHeld(), false);
    await file.remove();
    await file.remove();
    assert.deepEqual([...Deno.readDirSync(folder)], []);
  }));

Deno.test("a record that is too large, or a folder, is not usable", () =>
  inFolder(async (folder) => {
    const file = RecordFile.of(kernelWith(), folder);
    await Deno.writeTextFile(file.path, " ".repeat((1 << 20) + 1));
    const reading = await file.read();
    assert.match(reading.kind === "unusable" ? reading.reason : "", /larger than 1048576 bytes/);
    await Deno.remove(file.path);
    await Deno.mkdir(file.path);
    assert.throws(() => file.replace(exampleRecord), /Cannot write/);
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["4026531840.json"]);
  }));
