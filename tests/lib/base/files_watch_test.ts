import assert from "node:assert/strict";
import { untilRewritten } from "../../../lib/base/files_watch.ts";

async function withFile(body: (path: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/config.conf`;
    await Deno.writeTextFile(path, "mode: one\n");
    await body(path);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("untilRewritten() resolves when the file's content changes in place", async () => {
  await withFile(async (path) => {
    const stop = new AbortController();
    const rewritten = untilRewritten(path, stop.signal);
    const writing = setInterval(() => Deno.writeTextFileSync(path, "x", { append: true }), 20);
    await rewritten;
    clearInterval(writing);
    assert.equal(stop.signal.aborted, false);
  });
});

Deno.test("untilRewritten() ends with its signal, whenever that comes", async () => {
  await withFile(async (path) => {
    await untilRewritten(path, AbortSignal.abort());
    const during = new AbortController();
    const early = untilRewritten(path, during.signal);
    during.abort();
    await early;
    const later = new AbortController();
    const late = untilRewritten(path, later.signal);
    setTimeout(() => later.abort(), 50);
    await late;
  });
});
