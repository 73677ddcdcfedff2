/**
 * Tells that files of a directory changed. What changed is for the reader to find out.
 *
 * The runtime keeps at most 16 events that were not read yet and drops what comes then, without a
 * word. So a burst means that anything may have changed, and now and then it is time to look whether
 * something changed of which the system told nothing.
 */
import { type Clock, untilNext } from "./clock.ts";

/** What tells of changes until it is closed. */
export interface DirectoryEvents extends AsyncIterable<Pick<Deno.FsEvent, "kind" | "paths">> {
  close(): void;
}

export interface WatchFilesOptions {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Changes that come closer together than this are told together. */
  readonly debounceMs: number;
  /** How often it is time to look, whatever the system tells. */
  readonly pollMs: number;
  /** Throws where there is nothing to watch or no way to; the system's own events when absent. */
  readonly open?: (directory: string) => DirectoryEvents;
}

/** What is known of the changes in a directory. */
export type DirectoryChange =
  /** These paths were touched, and no other that the system tells of. */
  | { readonly kind: "some"; readonly paths: ReadonlySet<string> }
  | { readonly kind: "anything" }
  /** Nothing is known to have changed, and it is time to look. */
  | { readonly kind: "time" };

/**
 * Changes until the signal aborts, beginning with `anything`. The directory is watched and not a file
 * in it: a file that is replaced by renaming, as editors and ConfigMaps do, takes its own watch with it.
 */
export async function* watchDirectory(
  directory: string,
  options: WatchFilesOptions,
): AsyncIterable<DirectoryChange> {
  const { clock, debounceMs, pollMs, signal } = options;
  while (!signal.aborted) {
    const identity = await identityOf(directory);
    const watcher = openWatcher(directory, options);
    // Whatever happened while nobody watched.
    yield { kind: "anything" };
    if (watcher) yield* follow(watcher, { ...options, directory, identity });
    // Without a watcher the directory is gone or the system has no watches left: look now and then.
    await clock.sleep(watcher ? debounceMs : pollMs, signal);
  }
}

/** A directory in which something always happens is told of after so many times the debounce. */
const maxDebounces = 10;
/** From here on some events may have been dropped; the runtime keeps twice as many. */
const burst = 8;

function openWatcher(
  directory: string,
  { open = systemEvents }: WatchFilesOptions,
): DirectoryEvents | undefined {
  try {
    return open(directory);
  } catch {
    // Too many watches, or no directory: polling stands in and shows any further fault when reading.
    return undefined;
  }
}

function systemEvents(directory: string): DirectoryEvents {
  return Deno.watchFs(directory, { recursive: false });
}

interface FollowOptions extends WatchFilesOptions {
  readonly directory: string;
  /** What the directory was when it was opened. */
  readonly identity: string | undefined;
}

/** Returns when the directory is not the one that is watched any more. */
async function* follow(
  watcher: DirectoryEvents,
  options: FollowOptions,
): AsyncIterable<DirectoryChange> {
  const { clock, directory, identity, pollMs, signal } = options;
  const close = () => closeQuietly(watcher);
  signal.addEventListener("abort", close);
  const events = new GatheredEvents(options);
  const reading = events.takeIn(watcher);
  try {
    let lookAt = clock.monotonic() + untilNext(pollMs, clock);
    while (!signal.aborted) {
      const change = await events.next(Math.ceil(lookAt - clock.monotonic()));
      if (change && !signal.aborted) yield change;
      if (events.ended) return;
      if (clock.monotonic() < lookAt) continue;
      // A directory that was moved away is still the one that is watched.
      if (await identityOf(directory) !== identity) return;
      if (!signal.aborted) yield { kind: "time" };
      lookAt = clock.monotonic() + untilNext(pollMs, clock);
    }
  } finally {
    signal.removeEventListener("abort", close);
    close();
    await reading;
  }
}

/** The events of a watcher, taken from it at once and told when no more of them follow closely. */
class GatheredEvents {
  readonly #options: FollowOptions;
  #paths = new Set<string>();
  #count = 0;
  #ended = false;
  #wakeUp: () => void = () => {};

  constructor(options: FollowOptions) {
    this.#options = options;
  }

  /** The directory is gone, or the watcher closed. */
  get ended(): boolean {
    return this.#ended;
  }

  async takeIn(watcher: DirectoryEvents): Promise<void> {
    // Events spell the path as the system sees it; a file of the same name costs a new watch, no more.
    const { directory } = this.#options;
    const own = directory.replace(/\/+$/, "").split("/").at(-1) ?? directory;
    for await (const { kind, paths } of watcher) {
      // Without a path it says that the system itself lost some.
      this.#count += paths.length === 0 ? burst : 1;
      // The end of writing is an event of its own, after those of the writing itself.
      if (kind !== "access") { for (const path of paths) this.#paths.add(path); }
      if (kind === "remove" && paths.some((path) => path.endsWith(`/${own}`))) break;
      this.#wakeUp();
    }
    this.#ended = true;
    this.#wakeUp();
  }

  /** What changed, once something did; undefined when nothing did for so long. */
  async next(milliseconds: number): Promise<DirectoryChange | undefined> {
    const { clock, debounceMs, signal } = this.#options;
    if (this.#count === 0 && !this.#ended) await this.#sleep(milliseconds);
    let seen = 0;
    for (let times = 0; seen < this.#count && times < maxDebounces && !signal.aborted; times++) {
      seen = this.#count;
      await clock.sleep(debounceMs, signal);
    }
    const [paths, count] = [this.#paths, this.#count];
    this.#paths = new Set();
    this.#count = 0;
    if (count >= burst) return { kind: "anything" };
    return paths.size > 0 ? { kind: "some", paths } : undefined;
  }

  /** Until the next event at the latest. */
  async #sleep(milliseconds: number): Promise<void> {
    const woken = new AbortController();
    this.#wakeUp = () => woken.abort();
    await this.#options.clock.sleep(milliseconds, woken.signal);
    this.#wakeUp = () => {};
  }
}

function closeQuietly(watcher: DirectoryEvents): void {
  try {
    watcher.close();
  } catch {
    // It is closed already.
  }
}

async function identityOf(path: string): Promise<string | undefined> {
  try {
    const { dev, ino } = await Deno.stat(path);
    return `${dev}:${ino}`;
  } catch {
    // It is gone, which is another thing than being any one.
    return undefined;
  }
}

/** A file, and what it held when it was read. */
export interface ReadFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/**
 * Resolves when the file no longer holds what was read from it, be it that this happened before the
 * call. A file that is replaced by renaming from now on, removed, touched or given other rights is not
 * rewritten: such a change is for the next start.
 */
export async function untilRewritten(
  { path, bytes }: ReadFile,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return;
  using watcher = Deno.watchFs(path);
  const close = () => watcher.close();
  signal.addEventListener("abort", close, { once: true });
  try {
    // An empty file is one that somebody is about to write.
    const holdsOther = (content: Uint8Array) =>
      content.length > 0 &&
      (content.length !== bytes.length || content.some((byte, i) => byte !== bytes[i]));
    const before = await contentOf(path);
    if (before && holdsOther(before.content)) return;
    for await (const _event of watcher) {
      const now = await contentOf(path);
      if (now && now.inode === before?.inode && holdsOther(now.content)) return;
    }
  } finally {
    signal.removeEventListener("abort", close);
  }
}

async function contentOf(
  path: string,
): Promise<{ inode: string; content: Uint8Array } | undefined> {
  try {
    const { dev, ino } = await Deno.stat(path);
    return { inode: `${dev}:${ino}`, content: await Deno.readFile(path) };
  } catch {
    // Gone, or not readable now: nothing that a restart would help.
    return undefined;
  }
}
