/** Tells that files of a directory changed. What changed is for the reader to find out. */
import type { Clock } from "./clock.ts";

export interface WatchFilesOptions {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Changes that come closer together than this are told together. */
  readonly debounceMs: number;
  /** How often to say "perhaps" where the system cannot tell. */
  readonly pollMs: number;
}

/**
 * Paths that changed, in sets, until the signal aborts; `undefined` when anything may have changed.
 * The directory is watched and not a file in it: a file that is replaced by renaming, as editors and
 * ConfigMaps do, takes its own watch with it.
 */
export async function* watchDirectory(
  directory: string,
  options: WatchFilesOptions,
): AsyncIterable<ReadonlySet<string> | undefined> {
  while (!options.signal.aborted) {
    const watcher = openWatcher(directory);
    if (watcher) {
      // Whatever happened while nobody watched.
      yield undefined;
      yield* follow(watcher, { ...options, directory });
    }
    // The directory is gone, or the system has no watches left: look now and then.
    await options.clock.sleep(options.pollMs, options.signal);
    if (!options.signal.aborted) yield undefined;
  }
}

/** A directory in which something always happens is told of after so many times the debounce. */
const maxDebounces = 20;

function openWatcher(directory: string): Deno.FsWatcher | undefined {
  try {
    return Deno.watchFs(directory, { recursive: false });
  } catch {
    // Too many watches, or no directory: polling stands in and shows any further fault when reading.
    return undefined;
  }
}

/**
 * Something that differs when the file was written or replaced since; undefined when there is none.
 * Two writes of equal size within a millisecond look alike.
 */
export async function fileStamp(path: string): Promise<string | undefined> {
  try {
    const { dev, ino, size, mtime } = await Deno.stat(path);
    return `${dev}:${ino}:${size}:${mtime?.getTime() ?? 0}`;
  } catch {
    // Whoever reads the file next finds out why.
    return undefined;
  }
}

interface FollowOptions extends WatchFilesOptions {
  readonly directory: string;
}

async function* follow(
  watcher: Deno.FsWatcher,
  options: FollowOptions,
): AsyncIterable<ReadonlySet<string>> {
  const { signal } = options;
  const close = () => closeQuietly(watcher);
  signal.addEventListener("abort", close);
  try {
    const events = watcher[Symbol.asyncIterator]();
    const gathering = { next: events.next() };
    while (!signal.aborted) {
      const { paths, ended } = await gather(events, { ...options, gathering });
      if (paths.size > 0 && !signal.aborted) yield paths;
      if (ended) return;
    }
  } finally {
    signal.removeEventListener("abort", close);
    close();
  }
}

/** Waits for an event, and then for as long as more of them follow closely. */
async function gather(
  events: AsyncIterator<Deno.FsEvent>,
  { gathering, clock, debounceMs, directory, signal }: FollowOptions & {
    /** The event that is asked for already; after the call, the next one. */
    readonly gathering: { next: Promise<IteratorResult<Deno.FsEvent>> };
  },
): Promise<{ readonly paths: ReadonlySet<string>; readonly ended: boolean }> {
  const paths = new Set<string>();
  // Events spell the path as the system sees it; a file of the same name costs a new watch, no more.
  const own = directory.replace(/\/+$/, "").split("/").at(-1) ?? directory;
  const isDirectoryItself = (path: string) => path === directory || path.endsWith(`/${own}`);
  let event: IteratorResult<Deno.FsEvent> | undefined = await gathering.next;
  const deadline = clock.monotonic() + debounceMs * maxDebounces;
  while (event) {
    if (event.done) return { paths, ended: true };
    const { kind, paths: touched } = event.value;
    // Reading a file is an event as well, our own reading too.
    if (kind !== "access") { for (const path of touched) paths.add(path); }
    if (kind === "remove" && touched.some(isDirectoryItself)) return { paths, ended: true };
    gathering.next = events.next();
    if (clock.monotonic() >= deadline) break;
    const quiet = clock.sleep(debounceMs, signal).then(() => undefined);
    event = await Promise.race([gathering.next, quiet]);
  }
  return { paths, ended: false };
}

function closeQuietly(watcher: Deno.FsWatcher): void {
  try {
    watcher.close();
  } catch {
    // It is closed already.
  }
}

/**
 * Resolves when the file itself is written to with another content. A file that was replaced by
 * renaming, removed, touched or given other rights is not: such a change is for the next start.
 */
export async function untilRewritten(path: string, signal: AbortSignal): Promise<void> {
  const before = await identityOf(path);
  // An end that came meanwhile is told to nobody who listens from now on.
  if (signal.aborted) return;
  using watcher = Deno.watchFs(path);
  const close = () => watcher.close();
  signal.addEventListener("abort", close, { once: true });
  try {
    for await (const _event of watcher) {
      const now = await identityOf(path);
      if (now && now.inode === before?.inode && now.content !== before.content) return;
    }
  } finally {
    signal.removeEventListener("abort", close);
  }
}

async function identityOf(path: string): Promise<{ inode: string; content: string } | undefined> {
  try {
    const { dev, ino } = await Deno.stat(path);
    return { inode: `${dev}:${ino}`, content: await Deno.readTextFile(path) };
  } catch {
    // Gone, or not readable now: nothing that a restart would help.
    return undefined;
  }
}
