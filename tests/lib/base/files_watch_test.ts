import assert from "node:assert/strict";
import {
  type DirectoryChange,
  type DirectoryEvents,
  type ReadFile,
  untilRewritten,
  watchDirectory,
} from "../../../lib/base/files_watch.ts";
import { FakeClock, settle } from "../../fakes/fake_clock.ts";
import { inFolder } from "../../fakes/folder.ts";

async function withFile(body: (file: ReadFile) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/config.conf`;
    const bytes = new TextEncoder().encode("mode: one\n");
    await Deno.writeFile(path, bytes);
    await body({ path, bytes });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("untilRewritten() resolves when the file's content changes in place", async () => {
  await withFile(async (file) => {
    const stop = new AbortController();
    const rewritten = untilRewritten(file, stop.signal);
    const writing = setInterval(() => Deno.writeTextFileSync(file.path, "x", { append: true }), 20);
    await rewritten;
    clearInterval(writing);
    assert.equal(stop.signal.aborted, false);
  });
});

Deno.test("untilRewritten() notices what was written between reading and watching", async () => {
  await withFile(async (file) => {
    await Deno.writeTextFile(file.path, "mode: two\n");
    await untilRewritten(file, new AbortController().signal);
  });
});

Deno.test("untilRewritten() does not mind a file that is replaced, touched or written with the same", async () => {
  await withFile(async (file) => {
    const stop = new AbortController();
    let resolved = false;
    const rewritten = untilRewritten(file, stop.signal).then(() => void (resolved = true));
    await Deno.utime(file.path, 1, 1);
    await Deno.writeFile(file.path, file.bytes);
    await Deno.chmod(file.path, 0o600);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await Deno.writeTextFile(`${file.path}.new`, "mode: two\n");
    await Deno.rename(`${file.path}.new`, file.path);
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal(resolved, false);
    stop.abort();
    await rewritten;
  });
});

Deno.test("untilRewritten() ends with its signal, whenever that comes", async () => {
  await withFile(async (file) => {
    await untilRewritten(file, AbortSignal.abort());
    const during = new AbortController();
    const early = untilRewritten(file, during.signal);
    during.abort();
    await early;
    const later = new AbortController();
    const late = untilRewritten(file, later.signal);
    setTimeout(() => later.abort(), 50);
    await late;
  });
});

/** Events that a test hands out, in the system's place. */
class HandFed implements DirectoryEvents {
  #waiting: Pick<Deno.FsEvent, "kind" | "paths">[] = [];
  #wake = Promise.withResolvers<void>();
  #closed = false;

  tell(kind: Deno.FsEvent["kind"], ...paths: string[]): void {
    this.#waiting.push({ kind, paths });
    this.#wake.resolve();
  }

  close(): void {
    this.#closed = true;
    this.#wake.resolve();
  }

  async *[Symbol.asyncIterator]() {
    while (!this.#closed) {
      yield* this.#waiting.splice(0);
      if (this.#closed) return;
      this.#wake = Promise.withResolvers<void>();
      await this.#wake.promise;
    }
  }
}

interface Watching {
  readonly clock: FakeClock;
  /** Moves on, and waits until nothing is asked of the system any more. */
  readonly advance: (milliseconds: number) => Promise<void>;
  readonly folder: string;
  readonly events: () => HandFed;
  /** How often it was opened. */
  readonly opened: () => number;
  /** What was told since the last call. */
  readonly told: () => readonly DirectoryChange[];
  /** The next openings fail. */
  readonly refuse: (isRefused: boolean) => void;
  readonly stop: () => Promise<void>;
}

const debounceMs = 50;
const pollMs = 2_000;

function watching(body: (w: Watching) => Promise<void>): Promise<void> {
  return inFolder(async (parent) => {
    const folder = `${parent}/watched`;
    Deno.mkdirSync(folder);
    const clock = new FakeClock();
    const abort = new AbortController();
    const changes: DirectoryChange[] = [];
    const all: HandFed[] = [];
    let isRefused = false;
    const open = () => {
      if (isRefused) throw new Error("no watches left");
      all.push(new HandFed());
      return all[all.length - 1];
    };
    const { signal } = abort;
    const done = (async () => {
      const options = { signal, clock, debounceMs, pollMs, open };
      for await (const change of watchDirectory(folder, options)) changes.push(change);
    })();
    const stop = async () => {
      abort.abort();
      await done;
    };
    const advance = async (milliseconds: number) => {
      await clock.advance(milliseconds);
      while (clock.sleepers === 0) await settle();
    };
    await advance(0);
    await body({
      clock,
      advance,
      folder,
      events: () => all[all.length - 1],
      opened: () => all.length,
      told: () => changes.splice(0),
      refuse: (refused) => isRefused = refused,
      stop,
    });
    await stop();
  });
}

const anything: DirectoryChange = { kind: "anything" };
const time: DirectoryChange = { kind: "time" };
const some = (...paths: string[]): DirectoryChange => ({ kind: "some", paths: new Set(paths) });

Deno.test("watchDirectory() begins with anything, and tells what follows closely together", () =>
  watching(async ({ advance, events, told }) => {
    assert.deepEqual(told(), [anything]);
    events().tell("modify", "/d/a");
    await advance(40);
    events().tell("create", "/d/b", "/d/c");
    await advance(10);
    assert.deepEqual(told(), [], "it is not quiet yet");
    await advance(50);
    assert.deepEqual(told(), [some("/d/a", "/d/b", "/d/c")]);
    events().tell("rename", "/d/a");
    await advance(50);
    assert.deepEqual(told(), [some("/d/a")]);
  }));

Deno.test("watchDirectory() says nothing of files that were only read or closed", () =>
  watching(async ({ advance, events, told }) => {
    told();
    events().tell("access", "/d/a");
    await advance(200);
    assert.deepEqual(told(), []);
    events().tell("modify", "/d/b");
    events().tell("access", "/d/c");
    await advance(2 * debounceMs);
    assert.deepEqual(told(), [some("/d/b")]);
  }));

Deno.test("watchDirectory() tells at once what changed while the reader was busy", () =>
  inFolder(async (folder) => {
    const [clock, abort, fed] = [new FakeClock(), new AbortController(), new HandFed()];
    const { signal } = abort;
    const options = { signal, clock, debounceMs, pollMs, open: () => fed };
    const changes = watchDirectory(folder, options)[Symbol.asyncIterator]();
    const told: DirectoryChange[] = [];
    const ask = async () => {
      const { value } = await changes.next();
      if (value) told.push(value);
    };
    await ask();
    let asked = ask();
    await settle();
    fed.tell("modify", "/d/a");
    await clock.advance(2 * debounceMs);
    await asked;
    fed.tell("modify", "/d/b");
    await settle();
    asked = ask();
    await clock.advance(2 * debounceMs);
    assert.deepEqual(told, [anything, some("/d/a"), some("/d/b")]);
    await asked;
    abort.abort();
    await changes.return?.();
  }));

Deno.test("watchDirectory() takes many events for anything: the runtime drops what is beyond 16", () =>
  watching(async ({ advance, events, told }) => {
    told();
    const paths = Array.from({ length: 7 }, (_, i) => `/d/${i}`);
    for (const path of paths) events().tell("modify", path);
    await advance(2 * debounceMs);
    assert.deepEqual(told(), [some(...paths)]);
    for (let i = 0; i < 8; i++) events().tell("modify", "/d/a");
    await advance(2 * debounceMs);
    assert.deepEqual(told(), [anything]);
    for (let i = 0; i < 8; i++) events().tell("access", "/d/a");
    await advance(2 * debounceMs);
    assert.deepEqual(told(), [anything], "those of reading take their places too");
    events().tell("other");
    await advance(2 * debounceMs);
    assert.deepEqual(told(), [anything], "the system says that it lost some");
  }));

Deno.test("watchDirectory() tells of a directory in which something always happens", () =>
  watching(async ({ advance, events, told }) => {
    told();
    // Never quiet for 50 ms, and never many at once.
    for (let i = 0; i < 15; i++) {
      events().tell("modify", "/d/a");
      await advance(49);
    }
    assert.equal(told().length, 1);
  }));

Deno.test("watchDirectory() says when it is time to look, whatever happens besides", () =>
  watching(async ({ advance, events, told }) => {
    told();
    await advance(pollMs - 1);
    assert.deepEqual(told(), []);
    await advance(1);
    assert.deepEqual(told(), [time]);
    for (let i = 0; i < 15; i++) {
      await advance(150);
      events().tell("modify", "/d/a");
    }
    assert.deepEqual(told().filter(({ kind }) => kind === "time"), [time]);
  }));

Deno.test("watchDirectory() opens a directory anew that was removed or replaced", () =>
  watching(async ({ advance, events, folder, opened, told }) => {
    told();
    events().tell("remove", "/somewhere/watched");
    await advance(debounceMs);
    await advance(debounceMs);
    assert.deepEqual([opened(), told().at(-1)], [2, anything]);
    Deno.renameSync(folder, `${folder}.old`);
    Deno.mkdirSync(folder);
    await advance(pollMs);
    await advance(debounceMs);
    assert.deepEqual([opened(), told()], [3, [anything]]);
    events().tell("remove", "/somewhere/watched/a");
    await advance(debounceMs);
    await advance(debounceMs);
    assert.deepEqual([opened(), told()], [3, [some("/somewhere/watched/a")]]);
  }));

Deno.test("watchDirectory() looks now and then where nothing can be watched", () =>
  watching(async ({ advance, events, opened, refuse, told }) => {
    told();
    refuse(true);
    events().close();
    await advance(debounceMs);
    for (let times = 0; times < 3; times++) {
      assert.deepEqual(told(), [anything]);
      await advance(pollMs - 1);
      assert.deepEqual(told(), []);
      await advance(1);
    }
    refuse(false);
    await advance(pollMs);
    assert.equal(opened(), 2);
  }));

Deno.test("watchDirectory() ends with its signal, also while it waits", () =>
  watching(async ({ clock, events, told, stop }) => {
    told();
    events().tell("modify", "/d/a");
    await settle();
    await stop();
    await clock.advance(pollMs);
    assert.deepEqual([told(), clock.sleepers], [[], 0]);
  }));
