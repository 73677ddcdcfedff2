/**
 * Objects out of files instead of an apiserver: a file, the files of a directory, or standard input.
 * Everything is read once into one set that all resources share; each resource is a Watcher on it.
 * A file that becomes unusable keeps the objects it had: a slip of an editor takes no Service down.
 */
import type { Clock } from "../base/clock.ts";
import { describeError } from "../base/errors.ts";
import { FileError, isDirectory, listFiles, readFile } from "../base/files.ts";
import { fileStamp, watchDirectory } from "../base/files_watch.ts";
import { SharedTexts } from "../base/shared_texts.ts";
import { decodeText } from "../base/yaml.ts";
import type { EndpointSlice, Node, Service, ServiceCIDR } from "../kube/objects.ts";
import {
  describeManifestProblem,
  type LoadedManifest,
  loadManifestInSteps,
  type ManifestProblem,
} from "./manifests_load.ts";
import { ManifestObjects } from "./manifests_objects.ts";
import type { Source } from "./source.ts";
import type { Watcher } from "./watcher.ts";

/** How the source is read and how it speaks. */
export interface ManifestsOptions {
  /** A file, a directory (its `.yaml`, `.yml` and `.json` files, not deeper), or `-`. */
  readonly path: string;
  readonly clock: Clock;
  /** A file that cannot be used, each time it is found to be so. */
  readonly onProblem: (problem: ManifestProblem) => void;
  /** One sentence worth telling once: objects of no use, objects given twice. */
  readonly onNotice: (message: string) => void;
  /** A file that is about to be read: a large one takes a moment. */
  readonly onReading?: (path: string) => void;
  /** Leave out what opted-out namespaces hold; true when absent. */
  readonly namespaceOptOut?: boolean;
  /** 50 when absent. */
  readonly debounceMs?: number;
  /** 2000 when absent; only where the system cannot tell of changes. */
  readonly pollMs?: number;
  /** A larger file is refused; 1 GiB when absent. */
  readonly maxBytes?: number;
  /** Ends the reading; what was not read by then is left out. */
  readonly signal?: AbortSignal;
}

const gibibyte = 2 ** 30;
/** What fed it has failed, most likely: nobody pipes the wish for no Services. */
const emptyInput =
  "Cannot use standard input as manifests: it is empty; for no Services at all give an empty list";
/** So long a large file may keep others from the processor. */
const maxBlockMs = 20;

/**
 * One set of objects, and a Watcher for each resource in it. Opted-out namespaces are left out here,
 * so nobody has to follow them.
 */
export class ManifestsSource implements Source {
  readonly services: Watcher<Service>;
  readonly endpointSlices: Watcher<EndpointSlice>;
  readonly nodes: Watcher<Node>;
  readonly serviceCIDRs: Watcher<ServiceCIDR>;
  readonly #options: ManifestsOptions;
  readonly #objects: ManifestObjects;
  readonly #texts = new SharedTexts();
  /** Every file that was read, with what told its state then. */
  readonly #stamps = new Map<string, string | undefined>();
  readonly #saidKinds = new Set<string>();
  /** Files that could not be used when they were last read. */
  readonly #broken = new Set<string>();

  private constructor(options: ManifestsOptions) {
    this.#options = options;
    this.#objects = new ManifestObjects({
      namespaceOptOut: options.namespaceOptOut ?? true,
      onNotice: options.onNotice,
    });
    this.services = this.#objects.services;
    this.endpointSlices = this.#objects.endpointSlices;
    this.nodes = this.#objects.nodes;
    this.serviceCIDRs = this.#objects.serviceCIDRs;
  }

  /**
   * Reads everything once. A path that cannot be read at all throws a FileError; files that cannot be
   * used are told to `onProblem` and are empty until they can.
   */
  static async open(options: ManifestsOptions): Promise<ManifestsSource> {
    const source = new ManifestsSource(options);
    const { path } = options;
    if (await isDirectory(path)) {
      for (const file of await manifestFiles(path)) await source.#read(file);
    } else {
      source.#stamps.set(path, await fileStamp(path));
      const text = await source.#text(path);
      if (path === "-" && text?.trim() === "") throw new FileError(emptyInput, { path });
      await source.#use(path, text);
    }
    return source;
  }

  /** How many usable objects there are now. */
  get counts(): Readonly<Record<string, number>> {
    return this.#objects.counts;
  }

  /** How many files there are, and how many of them could not be used when they were last read. */
  get files(): { readonly all: number; readonly broken: number } {
    return { all: this.#stamps.size, broken: this.#broken.size };
  }

  /** Follows changes of the files until the signal aborts. Standard input never changes. */
  async follow(signal: AbortSignal): Promise<void> {
    const { path, clock, debounceMs = 50, pollMs = 2000 } = this.#options;
    if (path === "-") return;
    const whole = await isDirectory(path);
    const directory = whole ? path : parentOf(path);
    for await (const changed of watchDirectory(directory, { signal, clock, debounceMs, pollMs })) {
      const present = whole ? await this.#present(path) : [path];
      for (const file of present) {
        if (await this.#mayHaveChanged(file, changed)) await this.#read(file);
      }
    }
  }

  /** The directory's files now, after those that are gone were forgotten. */
  async #present(directory: string): Promise<readonly string[]> {
    try {
      const present = await manifestFiles(directory);
      const names = new Set(present);
      for (const file of [...this.#stamps.keys()]) if (!names.has(file)) this.#forget(file);
      return present;
    } catch (error) {
      this.#tell(directory, error);
      return [];
    }
  }

  async #mayHaveChanged(file: string, changed: ReadonlySet<string> | undefined): Promise<boolean> {
    if (changed && [...changed].some((path) => nameOf(path) === nameOf(file))) return true;
    // A ConfigMap swaps the hidden directory that all its files are links into.
    const anything = !changed || [...changed].some((path) => nameOf(path).startsWith("."));
    return anything && await fileStamp(file) !== this.#stamps.get(file);
  }

  async #read(path: string): Promise<void> {
    if (this.#options.signal?.aborted) return;
    const before = this.#stamps.get(path);
    try {
      this.#stamps.set(path, await fileStamp(path));
      const text = await this.#text(path);
      const settled = text?.trim() === "" && before !== undefined ? await this.#again(path) : text;
      await this.#use(path, settled);
    } catch (error) {
      // Its objects stay: between a removal and the file's return nothing shall go.
      this.#tell(path, error);
    }
  }

  /** Who writes a file in place empties it first: an empty one is read once more before it is believed. */
  async #again(path: string): Promise<string | undefined> {
    await this.#options.clock.sleep(4 * (this.#options.debounceMs ?? 50));
    return await this.#text(path);
  }

  async #text(path: string): Promise<string | undefined> {
    this.#options.onReading?.(path);
    const bytes = await readFile(path, { maxBytes: this.#options.maxBytes ?? gibibyte });
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      const problem = decodeText(bytes, path);
      if (typeof problem === "string") return problem;
      const { line, column } = problem.place;
      this.#problem({ file: path, line, column, message: problem.message });
      return undefined;
    } finally {
      // Now, and not when memory is next collected: the largest file decides the most that is needed.
      if (bytes.buffer instanceof ArrayBuffer) bytes.buffer.transfer(0);
    }
  }

  async #use(path: string, text: string | undefined): Promise<void> {
    if (text === undefined) return;
    const loaded = await this.#load(path, text);
    if (!loaded) return;
    if (loaded.kind === "broken") {
      for (const problem of loaded.problems) this.#problem(problem);
      return;
    }
    this.#broken.delete(path);
    for (const [kind, count] of loaded.otherKinds) this.#sayOtherKind(kind, { path, count });
    this.#objects.setFile(path, loaded.objects);
  }

  /** Undefined when the end came first. */
  async #load(path: string, text: string): Promise<LoadedManifest | undefined> {
    const { clock, signal } = this.#options;
    const steps = loadManifestInSteps(text, { file: path, texts: this.#texts });
    let since = clock.monotonic();
    for (;;) {
      const { done, value } = steps.next();
      if (done) return value;
      if (clock.monotonic() - since < maxBlockMs) continue;
      await clock.sleep(0);
      if (signal?.aborted) return undefined;
      since = clock.monotonic();
    }
  }

  #forget(path: string): void {
    this.#stamps.delete(path);
    this.#broken.delete(path);
    this.#objects.setFile(path, []);
  }

  #tell(path: string, error: unknown): void {
    // The file is named already.
    const message = error instanceof FileError
      ? describeError(error).replace(`Cannot read "${path}": `, "")
      : describeError(error);
    this.#problem({ file: path, line: 0, column: 0, message });
  }

  #problem(problem: ManifestProblem): void {
    this.#broken.add(problem.file);
    this.#options.onProblem(problem);
  }

  #sayOtherKind(
    kind: string,
    { path, count }: { readonly path: string; readonly count: number },
  ): void {
    if (this.#saidKinds.has(kind)) return;
    this.#saidKinds.add(kind);
    const objects = count === 1 ? "1 object" : `${count} objects`;
    this.#options.onNotice(
      `Ignored ${objects} of kind "${kind}" in "${path}": no proxy reads that kind`,
    );
  }
}

export { describeManifestProblem, type ManifestProblem };

async function manifestFiles(directory: string): Promise<readonly string[]> {
  return (await listFiles(directory)).filter((path) => /\.(ya?ml|json)$/.test(path));
}

function parentOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash < 0 ? "." : path.slice(0, slash) || "/";
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
