import assert from "node:assert/strict";
import type { Clock } from "../../../lib/base/clock.ts";
import { type FileState, fileState, fileStateInTime } from "../../../lib/base/file_state.ts";

const clockAt = (now: number): Clock => ({
  now: () => now,
  monotonic: () => now,
  sleep: () => Promise.resolve(),
  after: () => () => {},
});

async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "kpt-state-" });
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** What both ways to ask say. */
async function stateOf(path: string, now = Date.now()): Promise<FileState> {
  const state = fileState(path, clockAt(now));
  assert.deepEqual(await fileStateInTime(path, clockAt(now)), state);
  return state;
}

Deno.test("fileState() tells what there is, without a look into it", () =>
  withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/file`, "x");
    await Deno.symlink(`${folder}/gone`, `${folder}/dangling`);
    await Deno.symlink(`${folder}/file`, `${folder}/link`);
    const kinds: Record<string, string> = {};
    for (const name of ["file", "link", "dangling", "none", "file/below"]) {
      kinds[name] = (await stateOf(`${folder}/${name}`)).kind;
    }
    assert.deepEqual(kinds, {
      file: "file",
      link: "file",
      dangling: "unreachable",
      none: "nothing",
      "file/below": "nothing",
    });
    assert.equal((await stateOf(folder)).kind, "directory");
    assert.equal((await stateOf("/dev/null")).kind, "special");
  }));

Deno.test("fileState() has another stamp for a file that was written or replaced", () =>
  withFolder(async (folder) => {
    const path = `${folder}/file`;
    const stamps = new Set<string>();
    const note = async () => {
      const state = await stateOf(path);
      assert.ok(state.kind === "file");
      stamps.add(state.stamp);
    };
    await Deno.writeTextFile(path, "1");
    await note();
    await note();
    assert.equal(stamps.size, 1);
    await Deno.writeTextFile(path, "22");
    await note();
    await Deno.utime(path, 1, 1);
    await note();
    await Deno.writeTextFile(`${folder}/other`, "22");
    await Deno.utime(`${folder}/other`, 1, 1);
    await Deno.rename(`${folder}/other`, path);
    await note();
    assert.equal(stamps.size, 4);
  }));

Deno.test("fileState() calls a file settled that has not just been touched", () =>
  withFolder(async (folder) => {
    const path = `${folder}/file`;
    await Deno.writeTextFile(path, "x");
    // It was written long ago, and its time was changed just now.
    await Deno.utime(path, 1, 1);
    const touched = (await Deno.stat(path)).ctime?.getTime() ?? 0;
    const isSettled = async (later: number) => {
      const state = await stateOf(path, touched + later);
      return state.kind === "file" && state.settled;
    };
    assert.deepEqual(
      await Promise.all([0, 30, 31, -30, -31].map(isSettled)),
      [false, false, true, false, true],
    );
  }));
