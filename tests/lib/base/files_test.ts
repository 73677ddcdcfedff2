import assert from "node:assert/strict";
import {
  FileError,
  isDirectory,
  isFile,
  listFiles,
  makeDirectory,
  readFile,
  readStream,
  writeFileAtomically,
} from "../../../lib/base/files.ts";
import { inFolder } from "../../fakes/folder.ts";

function refuses(work: Promise<unknown>, message: RegExp): Promise<void> {
  return assert.rejects(work, (error) => error instanceof FileError && message.test(error.message));
}

const limit = { maxBytes: 10 };

Deno.test("readFile() reads what is not too large", () =>
  inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/a`, "0123456789");
    assert.equal((await readFile(`${folder}/a`, limit)).length, 10);
    await Deno.writeTextFile(`${folder}/b`, "0123456789X");
    await refuses(
      readFile(`${folder}/b`, limit),
      /^Cannot read "[^"]*\/b": it is larger than 10 bytes$/,
    );
    await refuses(readFile(`${folder}/c`, limit), /": no such file or directory$/);
    await refuses(readFile(`${folder}/a/c`, limit), /a part of its path is not a directory$/);
    await refuses(readFile(folder, limit), /: it is a directory$/);
  }));

Deno.test("readFile() reads what tells no size", async () => {
  const status = new TextDecoder().decode(
    await readFile("/proc/self/status", { maxBytes: 100_000 }),
  );
  assert.match(status, /^Name:[^]*\nnonvoluntary_ctxt_switches:.*\n$/);
  await refuses(readFile("/proc/self/status", limit), /is larger than 10 bytes$/);
});

Deno.test("readStream() gives all parts in their order", async () => {
  const stream = ReadableStream.from([Uint8Array.of(1, 2), Uint8Array.of(3), Uint8Array.of(4, 5)]);
  assert.deepEqual([...await readStream(stream, { maxBytes: 5 })], [1, 2, 3, 4, 5]);
});

Deno.test("isFile() knows files and links to them, and nothing else", () =>
  inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/a`, "");
    await Deno.symlink("a", `${folder}/link`);
    await Deno.symlink("nowhere", `${folder}/broken`);
    const found = await Promise.all(
      ["a", "link", "broken", "none", ""].map((name) => isFile(`${folder}/${name}`)),
    );
    assert.deepEqual(found, [true, true, false, false, false]);
  }));

Deno.test("listFiles() and makeDirectory() say what stands in the way", () =>
  inFolder(async (folder) => {
    await refuses(listFiles(`${folder}/none`), /^Cannot read directory ".*\/none": no such file/);
    await makeDirectory(`${folder}/b/c`);
    await makeDirectory(`${folder}/b/c`);
    assert.equal(await isDirectory(`${folder}/b/c`), true);
    await Deno.writeTextFile(`${folder}/a`, "");
    await refuses(makeDirectory(`${folder}/a/b`), /^Cannot create directory ".*": .+/);
    assert.deepEqual(await listFiles(`${folder}/`), [`${folder}/a`]);
  }));

Deno.test("writeFileAtomically() writes to a device instead of replacing it", async () => {
  await writeFileAtomically("/dev/null", "x");
  assert.equal((await Deno.stat("/dev/null")).isCharDevice, true);
});

Deno.test("readStream() says that it is standard input", () =>
  refuses(
    readStream(new Blob(["0123456789X"]).stream(), limit),
    /^Cannot read standard input: it is larger than 10 bytes$/,
  ));

Deno.test("listFiles() sorts, follows links to files and leaves out what is hidden", () =>
  inFolder(async (folder) => {
    await Deno.mkdir(`${folder}/..data`);
    await Deno.writeTextFile(`${folder}/..data/b.yaml`, "");
    await Deno.symlink(`${folder}/..data/b.yaml`, `${folder}/b.yaml`);
    await Deno.writeTextFile(`${folder}/a.yaml`, "");
    await Deno.mkdir(`${folder}/sub`);
    await Deno.symlink(`${folder}/sub`, `${folder}/d.yaml`);
    await Deno.symlink("nowhere", `${folder}/c.yaml`);
    const names = ["a", "b", "c"].map((name) => `${folder}/${name}.yaml`);
    assert.deepEqual(await listFiles(folder), names);
    await refuses(
      readFile(`${folder}/c.yaml`, limit),
      /^Cannot read ".*\/c.yaml": it is a link to "nowhere", which is not there$/,
    );
    assert.equal(await isDirectory(folder), true);
    assert.equal(await isDirectory(`${folder}/a.yaml/x`), false);
  }));

Deno.test("writeFileAtomically() replaces the file, keeps its mode and leaves links be", () =>
  inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/a`, "old", { mode: 0o640 });
    await Deno.symlink(`${folder}/a`, `${folder}/link`);
    await writeFileAtomically(`${folder}/link`, "new");
    assert.equal(await Deno.readTextFile(`${folder}/a`), "new");
    assert.equal(((await Deno.stat(`${folder}/a`)).mode ?? 0) & 0o777, 0o640);
    assert.ok((await Deno.lstat(`${folder}/link`)).isSymlink);
    await refuses(writeFileAtomically(`${folder}/no/a`, "x"), /^Cannot write ".*\/no\/a": no such/);
    assert.equal([...Deno.readDirSync(folder)].length, 2);
    await writeFileAtomically(`${folder}/b`, "first");
    assert.equal(await Deno.readTextFile(`${folder}/b`), "first");
    assert.equal([...Deno.readDirSync(folder)].length, 3);
  }));

Deno.test("writeFileAtomically() moves a new file into its place whole", () =>
  inFolder(async (folder) => {
    const watcher = Deno.watchFs(folder);
    const late = setTimeout(() => watcher.close(), 5_000);
    await writeFileAtomically(`${folder}/new`, "content");
    const kinds: string[] = [];
    for await (const { kind, paths } of watcher) {
      if (paths.some((path) => path.endsWith("/new"))) kinds.push(kind);
      if (kinds.length > 0) break;
    }
    clearTimeout(late);
    assert.deepEqual(kinds, ["rename"]);
  }));
