import assert from "node:assert/strict";
import type { DirectoryChange } from "../../../lib/base/files_watch.ts";
import { type FileChanges, ManifestFiles } from "../../../lib/watchers/manifest_files.ts";
import { FakeClock } from "../../fakes/fake_clock.ts";
import { inFolder } from "../../fakes/folder.ts";

const anything: DirectoryChange = { kind: "anything" };
const time: DirectoryChange = { kind: "time" };
const none: FileChanges = { written: [], gone: [] };

function some(...paths: readonly string[]): DirectoryChange {
  return { kind: "some", paths: new Set(paths) };
}

/** Every file is old on this clock, so that its stamp counts. */
function clock(): FakeClock {
  return new FakeClock(Date.now() + 3_600_000);
}

function inDirectory(
  body: (at: (name: string) => string, files: ManifestFiles) => Promise<void>,
): Promise<void> {
  return inFolder(async (folder) => {
    await body(
      (name) => `${folder}/${name}`,
      new ManifestFiles(`${folder}/`, { isDirectory: true, clock: clock() }),
    );
  });
}

let written = 0;

/** Each time with another size: stamps are only as fine as the file system's clock. */
function write(path: string): void {
  Deno.writeTextFileSync(path, "x".repeat(++written));
}

/** A directory too is only as new as that clock tells. */
function age(directory: string): void {
  Deno.utimeSync(directory, 0, ++written);
}

Deno.test("ManifestFiles.look() gives a file once, and again after it was written", () =>
  inDirectory(async (at, files) => {
    for (const name of ["b.yml", "a.yaml", "c.json", "d.txt", ".e.yaml"]) write(at(name));
    Deno.mkdirSync(at("f.yaml"));
    const all = [at("a.yaml"), at("b.yml"), at("c.json")];
    assert.deepEqual(await files.look(anything), { written: all, gone: [] });
    assert.equal(files.count, 3);
    for (const change of [anything, time, some(...all)]) {
      assert.deepEqual(await files.look(change), none, change.kind);
    }
    for (const change of [anything, time, some(at("b.yml"))]) {
      write(at("b.yml"));
      const expected = { written: [at("b.yml")], gone: [] };
      assert.deepEqual(await files.look(change), expected, change.kind);
    }
  }));

Deno.test("ManifestFiles.look() takes no file for gone while its directory is away, however it is told", () =>
  inFolder(async (folder) => {
    const [here, away] = [`${folder}/here`, `${folder}/away`];
    // On the real clock the directory is too young for its stamp to count, as after every change.
    for (const now of [clock(), new FakeClock(Date.now())]) {
      Deno.mkdirSync(here);
      const files = new ManifestFiles(here, { isDirectory: true, clock: now });
      write(`${here}/a.yaml`);
      await files.look(anything);
      Deno.renameSync(here, away);
      for (const change of [some(`${here}/a.yaml`), time, anything]) {
        await assert.rejects(files.look(change), /here/, change.kind);
        assert.equal(files.count, 1);
      }
      Deno.renameSync(away, here);
      assert.deepEqual((await files.look(anything)).gone, []);
      Deno.removeSync(`${here}/a.yaml`);
      assert.deepEqual((await files.look(some(`${here}/a.yaml`))).gone, [`${here}/a.yaml`]);
      Deno.removeSync(here);
    }
  }));

Deno.test("ManifestFiles.look() notices what came, went and was replaced, however it is told", () =>
  inDirectory(async (at, files) => {
    write(at("a.yaml"));
    await files.look(anything);
    for (const [name, change] of [["b.yaml", anything], ["c.yaml", time]] as const) {
      write(at(name));
      age(at(""));
      assert.deepEqual(await files.look(change), { written: [at(name)], gone: [] });
      Deno.renameSync(at(name), at("a.yaml"));
      age(at(""));
      assert.deepEqual(await files.look(change), { written: [at("a.yaml")], gone: [at(name)] });
    }
    write(at("d.yaml"));
    const came = some("/elsewhere/d.yaml", "/elsewhere/d.txt", "/elsewhere/.d.yaml");
    assert.deepEqual(await files.look(came), { written: [at("d.yaml")], gone: [] });
    Deno.removeSync(at("d.yaml"));
    assert.deepEqual(await files.look(came), { written: [], gone: [at("d.yaml")] });
    assert.deepEqual(await files.look(came), none);
  }));

Deno.test("ManifestFiles.look() trusts what the system tells, and looks at all files after a swap", () =>
  inDirectory(async (at, files) => {
    for (const name of ["a.yaml", "b.yaml"]) write(at(name));
    await files.look(anything);
    for (const name of ["a.yaml", "b.yaml"]) write(at(name));
    assert.deepEqual((await files.look(some(at("a.yaml")))).written, [at("a.yaml")]);
    assert.deepEqual((await files.look(some(at(".swp")))).written, []);
    assert.deepEqual((await files.look(some(at("..data")))).written, [at("b.yaml")]);
  }));

Deno.test("ManifestFiles.look() comes round to each of many files when nothing is told", () =>
  inDirectory(async (at, files) => {
    const names = Array.from({ length: 1_100 }, (_, i) => `${i}.yaml`);
    for (const name of names) write(at(name));
    assert.equal((await files.look(anything)).written.length, 1_100);
    for (const name of names) Deno.writeTextFileSync(at(name), "again", { append: true });
    const seen = [];
    for (const expected of [200, 200, 200, 200, 200, 100]) {
      const { written } = await files.look(time);
      assert.equal(written.length, expected);
      seen.push(...written);
    }
    assert.deepEqual(seen.sort(), names.map(at).sort());
  }));

Deno.test("ManifestFiles.look() gives a file again that was written a moment ago", () =>
  inFolder(async (folder) => {
    const path = `${folder}/a.yaml`;
    write(path);
    const { mtime } = Deno.statSync(path);
    const now = new FakeClock((mtime?.getTime() ?? 0) + 20);
    const files = new ManifestFiles(folder, { isDirectory: true, clock: now });
    for (const change of [anything, anything, some(path), time]) {
      assert.deepEqual((await files.look(change)).written, [path], change.kind);
    }
    await now.advance(20);
    // The stamp that counts is that of the last reading.
    assert.deepEqual((await files.look(time)).written, [path]);
    assert.deepEqual(await files.look(time), none);
  }));

Deno.test("ManifestFiles.look() gives what cannot be had once, and again when it is there", () =>
  inDirectory(async (at, files) => {
    Deno.symlinkSync("elsewhere", at("a.yaml"));
    assert.deepEqual((await files.look(anything)).written, [at("a.yaml")]);
    for (const change of [anything, time, some(at("a.yaml"))]) {
      assert.deepEqual(await files.look(change), none, change.kind);
    }
    write(at("elsewhere"));
    assert.deepEqual((await files.look(some(at("a.yaml")))).written, [at("a.yaml")]);
    Deno.removeSync(at("a.yaml"));
    age(at(""));
    assert.deepEqual((await files.look(time)).gone, [at("a.yaml")]);
  }));

Deno.test("ManifestFiles.look() misses a file that was named, and never takes it for gone", () =>
  inFolder(async (folder) => {
    const path = `${folder}/a.yaml`;
    write(path);
    write(`${folder}/b.yaml`);
    const files = new ManifestFiles(path, { isDirectory: false, clock: clock() });
    assert.deepEqual([files.directory, await files.look(anything)], [folder, {
      written: [path],
      gone: [],
    }]);
    assert.deepEqual(await files.look(some(`${folder}/b.yaml`)), none);
    Deno.removeSync(path);
    assert.deepEqual(await files.look(time), { written: [path], gone: [] });
    assert.deepEqual(await files.look(anything), none);
    write(path);
    assert.deepEqual(await files.look(some(path)), { written: [path], gone: [] });
    assert.equal(files.count, 1);
  }));

Deno.test("ManifestFiles.look() fails while the directory is away, and forgets nothing", () =>
  inDirectory(async (at, files) => {
    write(at("a.yaml"));
    await files.look(anything);
    Deno.renameSync(at(""), `${at("").slice(0, -1)}.away`);
    await assert.rejects(files.look(anything), /Cannot read directory/);
    await assert.rejects(files.look(time), /Cannot read directory/);
    Deno.renameSync(`${at("").slice(0, -1)}.away`, at(""));
    assert.deepEqual(await files.look(anything), none);
  }));

const parents: readonly (readonly [path: string, directory: string])[] = [
  ["services.yaml", "."],
  ["/services.yaml", "/"],
  ["a/services.yaml", "a"],
  ["/etc/shop/services.yaml", "/etc/shop"],
];

for (const [path, directory] of parents) {
  Deno.test(`ManifestFiles sees changes of "${path}" in "${directory}"`, () => {
    const files = new ManifestFiles(path, { isDirectory: false, clock: clock() });
    assert.equal(files.directory, directory);
  });
}
