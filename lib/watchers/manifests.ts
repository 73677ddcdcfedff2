/**
 * Objects out of files instead of an apiserver: files, the files of directories, or standard input.
 * Everything is read once into one set that all resources share; each resource is a Watcher on it.
 * A file that becomes unusable or empty keeps the objects it had: a slip of an editor, or a program
 * that failed before it wrote, takes no Service down.
 */
import type { Clock } from "../base/clock.ts";
import { describeError } from "../base/errors.ts";
import { fileStateInTime } from "../base/file_state.ts";
import { FileError, readFile } from "../base/files.ts";
import { type DirectoryChange, watchDirectory } from "../base/files_watch.ts";
import { SharedTexts } from "../base/shared_texts.ts";
import { decodeText } from "../base/yaml.ts";
import type { EndpointSlice, Node, Service, ServiceCIDR } from "../kube/objects.ts";
import { ManifestFiles } from "./manifest_files.ts";
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
  /** Each is a file, a directory (its `.yaml`, `.yml` and `.json` files, not deeper), or `-`. */
  readonly paths: readonly string[];
  readonly clock: Clock;
  /** A file that cannot be used, each time it is found to be so. */
  readonly onProblem: (problem: ManifestProblem) => void;
  /** One sentence worth telling once: objects of no use, left out, or given twice. */
  readonly onNotice: (message: string) => void;
  /** A file that is about to be read: a large one takes a moment. */
  readonly onReading?: (path: string) => void;
  /** Leave out what opted-out namespaces hold; true when absent. */
  readonly namespaceOptOut?: boolean;
  /** 50 when absent. */
  readonly debounceMs?: number;
  /** 2000 when absent: how often to look whether something changed that the system did not tell of. */
  readonly pollMs?: number;
  /** A larger file is refused; 1 GiB when absent. */
  readonly maxBytes?: number;
  /** Ends the reading; what was not read by then is left out. */
  readonly signal?: AbortSignal;
}

const gibibyte = 2 ** 30;
/** Most likely the program that should have written it has failed. */
const emptyInput =
  "Cannot use standard input as manifests: it is empty; for no Services at all give an empty list";
const emptyFile =
  'it is empty; to have nothing from it, remove it or write "{apiVersion: v1, kind: List, items: []}"';
/** How long a large file is read before other work may run. */
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
  readonly #followed: ManifestFiles[] = [];
  /** Standard input and pipes: they can be read but once. */
  #streams = 0;
  /** Files that were empty when they were last read, and perhaps are not any more. */
  readonly #empty = new Set<string>();
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
   * Reads everything once. A path where nothing is throws a FileError, as an empty standard input does;
   * files that cannot be used are told to `onProblem` and give nothing until they can.
   */
  static async open(options: ManifestsOptions): Promise<ManifestsSource> {
    const source = new ManifestsSource(options);
    for (const path of new Set(options.paths)) await source.#open(path);
    source.#objects.tellLeftOut();
    return source;
  }

  /** How many usable objects there are now. */
  get counts(): Readonly<Record<string, number>> {
    return this.#objects.counts;
  }

  /** How many files there are, and how many of them could not be used when they were last read. */
  get files(): { readonly all: number; readonly broken: number } {
    const all = this.#followed.reduce((sum, { count }) => sum + count, this.#streams);
    return { all, broken: this.#broken.size };
  }

  /** Follows changes of the files until the signal aborts. Standard input never changes. */
  async follow(signal: AbortSignal): Promise<void> {
    const { clock, debounceMs = 50, pollMs = 2000 } = this.#options;
    await Promise.all(this.#followed.map(async (files) => {
      const changes = watchDirectory(files.directory, { signal, clock, debounceMs, pollMs });
      for await (const change of changes) await this.#take(files, change);
    }));
  }

  async #open(path: string): Promise<void> {
    const { clock } = this.#options;
    const { kind } = await fileStateInTime(path, clock);
    if (path === "-" || kind === "special") {
      this.#streams++;
      const text = await this.#text(path);
      if (path === "-" && text?.trim() === "") throw new FileError(emptyInput, { path });
      return await this.#use(path, text);
    }
    const files = new ManifestFiles(path, { isDirectory: kind === "directory", clock });
    this.#followed.push(files);
    const { written } = await files.look({ kind: "anything" });
    for (const file of written) await this.#read(file, { throwing: kind === "nothing" });
    if (this.#empty.size === 0) return;
    await clock.sleep(4 * (this.#options.debounceMs ?? 50), this.#options.signal);
    await this.#tellEmpty();
  }

  async #take(files: ManifestFiles, change: DirectoryChange): Promise<void> {
    try {
      if (change.kind === "time") await this.#tellEmpty();
      const { written, gone } = await files.look(change);
      for (const file of gone) this.#forget(file);
      for (const file of written) await this.#read(file);
      this.#objects.tellLeftOut();
    } catch (error) {
      // Its objects stay: between a removal and the return of a directory nothing shall go.
      this.#tell(files.directory, error);
    }
  }

  async #read(path: string, { throwing = false } = {}): Promise<void> {
    if (this.#options.signal?.aborted) return;
    try {
      const text = await this.#text(path);
      if (text?.trim() === "") this.#empty.add(path);
      else await this.#use(path, text);
    } catch (error) {
      if (throwing) throw error;
      // Its objects stay: between a removal and the file's return nothing shall go.
      this.#tell(path, error);
    }
  }

  /** Whoever writes a file in place empties it first: one that is still empty is told of. */
  async #tellEmpty(): Promise<void> {
    const files = [...this.#empty];
    this.#empty.clear();
    for (const file of files) {
      await this.#read(file);
      if (this.#empty.delete(file)) this.#tell(file, emptyFile);
    }
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
    this.#empty.delete(path);
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
    this.#broken.delete(path);
    this.#empty.delete(path);
    this.#objects.setFile(path, []);
  }

  #tell(path: string, error: unknown): void {
    if (this.#options.signal?.aborted) return;
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
