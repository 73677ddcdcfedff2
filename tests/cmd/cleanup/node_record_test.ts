import assert from "node:assert/strict";
import { NodeRecord } from "../../../cmd/cleanup/node_record.ts";
import { findLiveProxy } from "../../../cmd/cleanup/live_proxy.ts";
import type { PageAnswer } from "../../../lib/health/ask_page.ts";
import { FakeHost } from "../../../lib/kernel/fake_host.ts";
import { FakeKernel } from "../../../lib/kernel/fake_kernel.ts";
import { FakeSysctl } from "../../../lib/kernel/fake_sysctl.ts";
import { RecordFile } from "../../../lib/record/record_file.ts";
import type { ModeLeftovers } from "../../../lib/writers/leftovers.ts";
import { inFolder } from "../../fakes/folder.ts";
import { exampleRecord } from "../../fakes/proxy_records.ts";

const setting = "net/ipv4/conf/all/route_localnet";
const signal = new AbortController().signal;
const metrics = { hostname: "127.0.0.1", port: 10249 };

/** A mode that sets the setting and has nothing else. */
const door: ModeLeftovers = {
  find: () => Promise.resolve([]),
  settings: [{ setting, family: "IPv4", value: "1", usual: "0" }],
  removal: {
    plan: () => Promise.resolve({ steps: [], kept: [], remaining: [] }),
    apply: () => Promise.resolve({ removed: [], remaining: [] }),
  },
};

function changedKernel(bootId?: string): FakeKernel {
  const host = new FakeHost(bootId === undefined ? {} : { bootId });
  return new FakeKernel({ host, sysctl: new FakeSysctl({ [setting]: "1" }) });
}

async function recordOf(folder: string, kernel = changedKernel()) {
  const warnings: string[] = [];
  const warn = (sentence: string) => void warnings.push(sentence);
  return { record: await NodeRecord.read({ folder, kernel, warn }), warnings, warn };
}

async function planOf(record: NodeRecord, mode: string, kernel = changedKernel()) {
  const modes = ["iptables", "ipvs"].map((each) => [each, () => Promise.resolve(door)] as const);
  const doors = await record.doorsWithSettings(new Map(modes));
  return await (await doors.get(mode)?.())?.removal.plan(kernel, signal);
}

function live(record: NodeRecord, answer: PageAnswer) {
  const ask = () => Promise.resolve(answer);
  return findLiveProxy({ metrics, healthz: undefined }, { ask, record, signal });
}

Deno.test("the proxy that keeps the record lives, and tells the mode that its page does not", () =>
  inFolder(async (folder) => {
    const file = RecordFile.of(changedKernel(), folder);
    file.replace(exampleRecord);
    const { record } = await recordOf(folder);
    const silent: PageAnswer = { kind: "silent" };
    assert.equal(await live(record, { kind: "nobody" }), undefined, "the record of a dead one");
    assert.equal((await live(record, silent))?.mode, undefined, "it is another that is silent");
    using _ = file.hold();
    assert.deepEqual(await live(record, silent), {
      mode: "iptables",
      sign: `keeps the record "${folder}/4026531840.json" (process 4321)`,
    });
    assert.equal((await live(record, { kind: "nobody" }))?.mode, "iptables");
    const page: PageAnswer = { kind: "page", status: 200, body: "ipvs" };
    assert.equal((await live(record, page))?.mode, "ipvs", "a page is asked first");
  }));

Deno.test("a setting that the mode that runs needs as well does not go back", () =>
  inFolder(async (folder) => {
    const file = RecordFile.of(changedKernel(), folder);
    file.replace({ ...exampleRecord, mode: "ipvs" });
    const { record } = await recordOf(folder);
    assert.equal((await planOf(record, "iptables"))?.steps.length, 1, "nobody runs");
    using _ = file.hold();
    const plan = await planOf(record, "iptables");
    assert.deepEqual([plan?.steps, plan?.kept.map(({ reason }) => reason)], [
      [],
      ["ipvs mode, which runs here, needs it"],
    ]);
    assert.equal((await planOf(record, "ipvs"))?.steps.length, 1, "its own, by force");
  }));

Deno.test("a setting goes back although the record cannot be written any more", () =>
  inFolder(async (folder) => {
    RecordFile.of(changedKernel(), `${folder}/run`).replace(exampleRecord);
    const kernel = changedKernel();
    const { record } = await recordOf(`${folder}/run`, kernel);
    await Deno.remove(`${folder}/run`, { recursive: true });
    await Deno.writeTextFile(`${folder}/run`, "");
    const doors = await record.doorsWithSettings(
      new Map([["iptables", () => Promise.resolve(door)]]),
    );
    const removal = (await doors.get("iptables")?.())?.removal;
    assert.ok(removal);
    const report = await removal.apply(kernel, await removal.plan(kernel, signal), signal);
    assert.deepEqual([report.removed.length, report.remaining], [1, []]);
    assert.equal(kernel.sysctl.read(setting), "0");
  }));

Deno.test("a record of garbage is said and not used", () =>
  inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/4026531840.json`, "garbage");
    const { record, warn, warnings } = await recordOf(folder);
    assert.deepEqual(warnings, [
      `Cannot use the record "${folder}/4026531840.json": it is not JSON; settings stay as they are`,
    ]);
    assert.deepEqual((await planOf(record, "iptables"))?.steps, []);
    await record.tidy(warn);
    assert.equal([...Deno.readDirSync(folder)].length, 1, "it is not ours to remove");
  }));

Deno.test("a record of another start of the machine is not used", () =>
  inFolder(async (folder) => {
    RecordFile.of(changedKernel(), folder).replace(exampleRecord);
    const { record, warnings } = await recordOf(folder, changedKernel("another"));
    assert.deepEqual(warnings, []);
    assert.deepEqual((await planOf(record, "iptables"))?.steps, []);
    assert.equal(record.live, undefined);
  }));

Deno.test("a machine that does not tell when it was started has no record, which is said", () =>
  inFolder(async (folder) => {
    const kernel = changedKernel();
    kernel.host.bootId = () => undefined;
    const { record, warnings } = await recordOf(folder, kernel);
    assert.match(warnings[0], /^Cannot look for the record of a proxy: the kernel does not tell/);
    assert.deepEqual((await planOf(record, "iptables"))?.steps, []);
  }));

Deno.test("a record goes once nothing in it is to go back and nobody keeps it", () =>
  inFolder(async (folder) => {
    const files = () => [...Deno.readDirSync(folder)].length;
    const file = RecordFile.of(changedKernel(), folder);
    file.replace(exampleRecord);
    const first = await recordOf(folder);
    await first.record.tidy(first.warn);
    assert.equal(files(), 1, "a setting may go back");
    file.replace({ ...exampleRecord, sysctls: [] });
    const held = file.hold();
    const second = await recordOf(folder);
    await second.record.tidy(second.warn);
    assert.equal(files(), 2, "somebody keeps it");
    held[Symbol.dispose]();
    await second.record.tidy(second.warn);
    assert.equal(files(), 0);
    await Deno.mkdir(`${file.path}/full`, { recursive: true });
    await second.record.tidy(second.warn);
    assert.match(second.warnings[0], /^Cannot remove ".*4026531840\.json": /);
  }));
