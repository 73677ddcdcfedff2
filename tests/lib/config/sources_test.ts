import assert from "node:assert/strict";
import { FileError } from "../../../lib/base/files.ts";
import { readSources } from "../../../lib/config/sources.ts";
import { inFolder } from "../../fakes/folder.ts";

Deno.test("readSources() reads files as they are given and directories in order", () =>
  inFolder(async (folder) => {
    for (
      const name of [
        "z.conf",
        "dir/b.yaml",
        "dir/a.json",
        "dir/c.yml",
        "dir/notes.txt",
        "dir/.x.yaml",
      ]
    ) {
      await Deno.mkdir(`${folder}/dir`, { recursive: true });
      await Deno.writeTextFile(`${folder}/${name}`, name);
    }
    const sources = await readSources([`${folder}/z.conf`, `${folder}/dir`]);
    assert.deepEqual(
      sources.map(({ name }) => name.slice(folder.length + 1)),
      ["z.conf", "dir/a.json", "dir/b.yaml", "dir/c.yml"],
    );
    assert.equal(new TextDecoder().decode(sources[0].bytes), "z.conf");
  }));

Deno.test("readSources() refuses what it cannot read", () =>
  inFolder(async (folder) => {
    const refuses = (path: string, message: RegExp) =>
      assert.rejects(
        readSources([path]),
        (error) => error instanceof FileError && message.test(error.message),
      );
    await refuses(
      folder,
      /^Cannot read directory ".*": it holds no file that ends in .json, .yaml, .yml$/,
    );
    await refuses(`${folder}/a.yaml`, /no such file or directory$/);
    await Deno.writeFile(`${folder}/big.yaml`, new Uint8Array((1 << 20) + 1));
    await refuses(`${folder}/big.yaml`, /it is larger than 1048576 bytes$/);
  }));
