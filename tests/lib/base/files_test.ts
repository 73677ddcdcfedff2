import assert from "node:assert/strict";
import {
  FileError,
  isDirectory,
  listFiles,
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
      /^Cannot read ".*\/b": it is larger than 10 bytes$/,
    );
    await refuses(readFile(`${folder}/c`, limit), /": no such file or directory$/);
    await refuses(readFile(`${folder}/a/c`, limit), /a part of its path is not a directory$/);
    await refuses(readFile(folder, limit), /: it is a directory$/);
  }));

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
    assert.deepEqual(await listFiles(folder), [`${folder}/a.yaml`, `${folder}/b.yaml`]);
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
  }));
