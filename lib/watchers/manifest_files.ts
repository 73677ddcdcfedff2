/**
 * Which manifest files a given path stands for, and which of them were written since they were last
 * looked at. Knows names and stamps; reading is for others.
 *
 * A change that the system tells of costs that file alone. A look at all files comes when something
 * may have been missed, and now and then a part of them is looked at whatever was told: a file system
 * of the network tells of nothing.
 */
import { assertNever } from "../base/assert_never.ts";
import type { Clock } from "../base/clock.ts";
import { fileState, fileStateInTime } from "../base/file_state.ts";
import { listFiles } from "../base/files.ts";
import type { DirectoryChange } from "../base/files_watch.ts";

/** What became of the files since the look before. A file that cannot be had counts as written, once. */
export interface FileChanges {
  readonly written: readonly string[];
  readonly gone: readonly string[];
}

/** At most so many files are looked at when nothing was told: a third of a millisecond. */
const filesATime = 200;
/** So long a look at many files may keep others from the processor. */
const maxBlockMs = 20;
/** Stands for a stamp that equals no other: the file is to be read when it is looked at next. */
const unsettled = "";

/** The files of one path: those of a directory, or the one that it names. */
export class ManifestFiles {
  /** Where changes of the files are seen. */
  readonly directory: string;
  readonly #path: string;
  readonly #isDirectory: boolean;
  readonly #clock: Clock;
  readonly #stamps = new Map<string, string>();
  /** Goes round through the files. */
  #turn: Iterator<string> = [].values();
  #listed = unsettled;

  constructor(
    path: string,
    { isDirectory, clock }: { readonly isDirectory: boolean; readonly clock: Clock },
  ) {
    this.#path = path;
    this.#isDirectory = isDirectory;
    this.#clock = clock;
    this.directory = isDirectory ? path : parentOf(path);
  }

  /** How many files there are. */
  get count(): number {
    return this.#stamps.size;
  }

  /** Throws a FileError when the directory cannot be listed; what is known of its files stays. */
  async look(change: DirectoryChange): Promise<FileChanges> {
    switch (change.kind) {
      case "anything":
        return await this.#lookAtAll();
      case "some": {
        const names = new Set([...change.paths].map(nameOf));
        // A ConfigMap swaps the hidden directory that all its files are links into.
        if ([...names].some((name) => name.startsWith(".."))) return await this.#lookAtAll();
        return await this.#lookAt([...names].sort().flatMap((name) => this.#pathOf(name) ?? []));
      }
      case "time":
        return await this.#lookAtSome();
      default:
        return assertNever(change);
    }
  }

  /** Whatever comes, comes or goes in a directory changes its stamp; what is written in place does not. */
  async #lookAtSome(): Promise<FileChanges> {
    const state = await fileStateInTime(this.directory, this.#clock);
    const stamp = "stamp" in state ? state.stamp : unsettled;
    if (this.#isDirectory && stamp !== this.#listed) return await this.#lookAtAll();
    const paths: string[] = [];
    while (paths.length < Math.min(this.#stamps.size, filesATime)) {
      const { done, value } = this.#turn.next();
      if (done) this.#turn = this.#stamps.keys();
      else paths.push(value);
    }
    return await this.#lookAt(paths);
  }

  async #lookAtAll(): Promise<FileChanges> {
    if (!this.#isDirectory) return await this.#lookAt([this.#path]);
    const state = await fileStateInTime(this.directory, this.#clock);
    const present = (await listFiles(this.directory)).filter(isManifest);
    this.#listed = "stamp" in state && state.settled ? state.stamp : unsettled;
    const known = new Set(present);
    const missing = [...this.#stamps.keys()].filter((path) => !known.has(path));
    return await this.#lookAt([...present, ...missing]);
  }

  async #lookAt(paths: readonly string[]): Promise<FileChanges> {
    const written: string[] = [];
    const missing: string[] = [];
    let since = this.#clock.monotonic();
    for (const path of paths) {
      const known = this.#stamps.get(path);
      const now = this.#stampOf(path);
      if (now !== undefined) {
        this.#stamps.set(path, now);
        if (now !== known || now === unsettled) written.push(path);
      } else if (this.#stamps.has(path)) missing.push(path);
      if (this.#clock.monotonic() - since < maxBlockMs) continue;
      await this.#clock.sleep(0);
      since = this.#clock.monotonic();
    }
    if (missing.length > 0) await this.#assertDirectory(written);
    // One that came back with its directory meanwhile is not gone.
    const gone = missing.filter((path) => this.#stampOf(path) === undefined);
    for (const path of gone) this.#stamps.delete(path);
    return { written, gone };
  }

  /** Of a directory that is away no file is gone: throws, and what was just found is found again later. */
  async #assertDirectory(written: readonly string[]): Promise<void> {
    if (fileState(this.directory, this.#clock).kind === "directory") return;
    for (const path of written) this.#stamps.set(path, unsettled);
    await listFiles(this.directory);
  }

  /** Undefined for what is no file of the directory; a file that was named is missed. */
  #stampOf(path: string): string | undefined {
    const state = fileState(path, this.#clock);
    switch (state.kind) {
      case "file":
        return state.settled ? state.stamp : unsettled;
      case "unreachable":
        return state.kind;
      case "directory":
      case "special":
      case "nothing":
        return this.#isDirectory ? undefined : state.kind;
      default:
        return assertNever(state);
    }
  }

  #pathOf(name: string): string | undefined {
    if (!this.#isDirectory) return name === nameOf(this.#path) ? this.#path : undefined;
    if (name.startsWith(".") || !isManifest(name)) return undefined;
    return `${this.directory.replace(/\/+$/, "")}/${name}`;
  }
}

function isManifest(path: string): boolean {
  return /\.(ya?ml|json)$/.test(path);
}

function parentOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash < 0 ? "." : path.slice(0, slash) || "/";
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
