/**
 * Follows one resource of an apiserver: lists it once, then watches, and from every fault comes back
 * to that by itself. It never interprets objects; it only knows which namespaces to leave out.
 *
 * A change of that set costs no list of the whole: what goes out is dropped, what comes in is listed
 * alone while the old watch still runs, and the new watch goes on from the version already held.
 */
import { linkAbort } from "../base/abort.ts";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import type { RepeatedFailureLog } from "../base/repeated_failure.ts";
import type { KubeClient, ObjectList } from "../kube/client.ts";
import type { WatchEvent } from "../kube/decoder.ts";
import type { ApiObject } from "../kube/objects.ts";
import type { Resource } from "../kube/resource.ts";
import { ApiError, ConnectionError, emptyStatus } from "../kube/status.ts";
import { Backoff } from "./backoff.ts";
import {
  type Exclusion,
  type ExclusionFeed,
  exclusionSelector,
  neverExcluding,
  sameExclusion,
} from "./exclusion.ts";
import { Progress } from "./progress.ts";
import type { ObjectChange, WatchBatch, Watcher } from "./watcher.ts";

export interface ListWatchOptions<T extends ApiObject> {
  readonly client: KubeClient;
  readonly resource: Resource<T>;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly exclusion?: ExclusionFeed;
  /** The server may lack the resource or forbid it: said once, then asked for every few minutes. */
  readonly optional?: boolean;
  readonly clock: Clock;
  readonly log: Logger;
  readonly failures: RepeatedFailureLog;
  readonly random?: () => number;
}

/** More namespaces than these come back by one list of all: the client's rate limit would space theirs out. */
const mostSingleLists = 8;
const absentRetryMs = 5 * 60_000;
/** A watch that ends sooner, and said nothing, has not worked. */
const shortestWatchMs = 1_000;

/** A Watcher over an apiserver. Each call of `watch` is a stream of its own. */
export class ListWatch<T extends ApiObject> implements Watcher<T> {
  readonly #options: ListWatchOptions<T>;

  constructor(options: ListWatchOptions<T>) {
    this.#options = options;
  }

  watch(signal: AbortSignal): AsyncIterable<WatchBatch<T>> {
    return new Following(this.#options, signal).run();
  }
}

/** What was prepared while the old watch ran on: the next set, and the namespaces that come in with it. */
interface Switch<T extends ApiObject> {
  readonly next: Exclusion;
  readonly returned: ReadonlyMap<string, ObjectList<T>>;
}

/** The state of one stream. */
class Following<T extends ApiObject> {
  readonly #options: ListWatchOptions<T>;
  readonly #signal: AbortSignal;
  readonly #feed: ExclusionFeed;
  readonly #random: () => number;
  readonly #backoff: Backoff;
  readonly #progress = new Progress();
  #exclusion: Exclusion;
  #hasListed = false;
  #saysAbsent = false;
  #garbage = 0;
  #expirations = 0;

  constructor(options: ListWatchOptions<T>, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    this.#feed = options.exclusion ?? neverExcluding;
    this.#random = options.random ?? Math.random;
    this.#backoff = new Backoff(this.#random);
    this.#exclusion = this.#feed.current;
  }

  async *run(): AsyncGenerator<WatchBatch<T>> {
    await this.#feed.ready(this.#signal);
    while (!this.#signal.aborted) {
      try {
        if (!this.#progress.canResume) yield await this.#list();
        yield* this.#follow();
        this.#recovered();
      } catch (error) {
        if (this.#signal.aborted) return;
        if (this.#isAbsent(error)) {
          if (!this.#hasListed && !this.#saysAbsent) yield { kind: "replace", objects: [] };
          await this.#waitForAbsent(error);
        } else await this.#recoverFrom(error);
      }
    }
  }

  async #list(): Promise<WatchBatch<T>> {
    const exclusion = this.#feed.current;
    const list = await this.#options.client.list(this.#options.resource, {
      ...this.#selection(exclusion),
      resourceVersion: this.#progress.listFrom,
      signal: this.#signal,
    });
    this.#exclusion = exclusion;
    this.#progress.listed(list.resourceVersion);
    this.#recovered();
    this.#hasListed = true;
    const { names, all, atServer } = exclusion;
    const objects = all.length === atServer.length
      ? list.objects
      : list.objects.filter((object) => !names.has(object.namespace));
    return { kind: "replace", objects };
  }

  /** Until the watch ends, fails, or another set of namespaces is ready to take over. */
  async *#follow(): AsyncGenerator<WatchBatch<T>> {
    const { client, resource, clock } = this.#options;
    using stop = linkAbort(this.#signal);
    const { signal } = stop;
    const started = clock.monotonic();
    let prepared: Switch<T> | undefined;
    const preparing = this.#prepareSwitch(signal).then((next) => {
      prepared = next;
      stop.abort();
    });
    let heard = false;
    try {
      const events = client.watch(resource, {
        ...this.#selection(this.#exclusion),
        resourceVersion: this.#progress.version,
        timeoutSeconds: 300 + Math.floor(this.#random() * 300),
        signal,
      });
      for await (const batch of events) {
        heard = true;
        yield* this.#translate(batch);
        this.#recovered();
        this.#expirations = 0;
      }
    } catch (error) {
      if (!prepared || this.#signal.aborted) throw error;
    } finally {
      stop.abort();
      await preparing;
    }
    if (prepared) yield* this.#apply(prepared);
    else if (!heard && clock.monotonic() - started < shortestWatchMs) {
      throw new ConnectionError(
        `Cannot watch ${resource.name}: the server ended the watch at once`,
      );
    }
  }

  *#translate(events: readonly WatchEvent<T>[]): Generator<WatchBatch<T>> {
    const { resource } = this.#options;
    const changes: ObjectChange<T>[] = [];
    let failure: ApiError | undefined;
    for (const event of events) {
      if (event.kind === "error") {
        failure = new ApiError(
          `Cannot watch ${resource.name}: ${event.status.message}`,
          event.status,
        );
        break;
      }
      if (event.kind === "bookmark") {
        if (this.#progress.bookmarked(event.resourceVersion)) continue;
        failure = new ApiError(
          `Cannot watch ${resource.name}: the server went back to older data`,
          {
            ...emptyStatus,
            cause: "ResourceVersionTooLarge",
          },
        );
        break;
      }
      const { namespace, name, resourceVersion } = event.object;
      const isNews = this.#progress.advanced(namespace, resourceVersion);
      if (!isNews || this.#exclusion.names.has(namespace)) continue;
      changes.push(
        event.kind === "upsert"
          ? { kind: "upsert", object: event.object }
          : { kind: "delete", namespace, name },
      );
    }
    if (changes.length > 0) yield { kind: "changes", changes };
    if (failure) throw failure;
  }

  /** Waits for another set of namespaces, and lists those that come back. Never fails, but may abort. */
  async #prepareSwitch(signal: AbortSignal): Promise<Switch<T> | undefined> {
    const backoff = new Backoff(this.#random);
    const returned = new Map<string, ObjectList<T>>();
    await this.#feed.changedFrom(this.#exclusion, signal);
    while (!signal.aborted) {
      const next = this.#feed.current;
      // Changed there and back.
      if (sameExclusion(next, this.#exclusion)) {
        await this.#feed.changedFrom(this.#exclusion, signal);
        continue;
      }
      try {
        const missing = this.#exclusion.all.filter((namespace) =>
          !next.names.has(namespace) && !returned.has(namespace)
        );
        if (missing.length > mostSingleLists) {
          const lists = await this.#listTogether(missing, { exclusion: next, signal });
          for (const [namespace, list] of lists) returned.set(namespace, list);
        } else {
          for (const namespace of missing) {
            returned.set(namespace, await this.#listNamespace(namespace, signal));
          }
        }
        if (sameExclusion(next, this.#feed.current)) return { next, returned };
      } catch (error) {
        if (signal.aborted) return undefined;
        this.#report(error);
        await this.#options.clock.sleep(backoff.next(error), signal);
      }
    }
    return undefined;
  }

  #listNamespace(namespace: string, signal: AbortSignal): Promise<ObjectList<T>> {
    const { client, resource, labelSelector, fieldSelector } = this.#options;
    return client.list(resource, {
      namespace,
      labelSelector,
      fieldSelector,
      // At least as new as the watch, whichever server answers.
      resourceVersion: this.#progress.version,
      signal,
    });
  }

  /** As `#listNamespace` for each of them, with one request. */
  async #listTogether(
    namespaces: readonly string[],
    { exclusion, signal }: { readonly exclusion: Exclusion; readonly signal: AbortSignal },
  ): Promise<ReadonlyMap<string, ObjectList<T>>> {
    const { client, resource } = this.#options;
    const { objects, resourceVersion } = await client.list(resource, {
      ...this.#selection(exclusion),
      resourceVersion: this.#progress.version,
      signal,
    });
    const byNamespace = Map.groupBy(objects, ({ namespace }) => namespace);
    return new Map(namespaces.map((namespace) => {
      return [namespace, { objects: byNamespace.get(namespace) ?? [], resourceVersion }];
    }));
  }

  *#apply({ next, returned }: Switch<T>): Generator<WatchBatch<T>> {
    const previous = this.#exclusion;
    this.#exclusion = next;
    const versions = new Map<string, string>();
    for (const [namespace, list] of returned) {
      // Went out again while it was listed.
      if (!next.names.has(namespace)) versions.set(namespace, list.resourceVersion);
    }
    this.#progress.rewind(versions);
    for (const namespace of next.all) {
      if (!previous.names.has(namespace)) yield { kind: "replace", namespace, objects: [] };
    }
    for (const [namespace, { objects }] of returned) {
      if (versions.has(namespace)) yield { kind: "replace", namespace, objects };
    }
  }

  #selection(exclusion: Exclusion) {
    const { labelSelector = "", fieldSelector = "" } = this.#options;
    return { labelSelector, fieldSelector: exclusionSelector(fieldSelector, exclusion) };
  }

  #isAbsent(error: unknown): error is ApiError {
    return this.#options.optional === true && !this.#hasListed &&
      error instanceof ApiError && (error.isForbidden || error.isNotFound);
  }

  async #waitForAbsent(error: ApiError): Promise<void> {
    const { log, clock, resource } = this.#options;
    if (!this.#saysAbsent) {
      log.info("The apiserver does not serve this resource; going on without it", {
        resource: resource.name,
        cause: error.message,
      });
    }
    this.#saysAbsent = true;
    await clock.sleep(absentRetryMs * (0.9 + this.#random() * 0.2), this.#signal);
  }

  async #recoverFrom(error: unknown): Promise<void> {
    if (error instanceof ApiError && (error.isExpired || error.isFromTheFuture)) {
      const { log, resource } = this.#options;
      log.verbose(1, "Listing anew", { resource: resource.name, cause: error.message });
      // A list whose version is refused at once was no good: the next one asks for the newest.
      const everything = error.isFromTheFuture || this.#expirations > 0;
      this.#progress.lost({ everything });
      // Compaction hits all nodes at once; their lists need not arrive in the same instant.
      const spreadMs = Math.min(500 * 2 ** this.#expirations++, 30_000);
      await this.#options.clock.sleep(this.#random() * spreadMs, this.#signal);
      return;
    }
    // What cannot be decoded twice in a row will not be decoded the third time: begin anew.
    this.#garbage = error instanceof SyntaxError ? this.#garbage + 1 : 0;
    if (this.#garbage > 1) this.#progress.lost({ everything: false });
    this.#report(error);
    await this.#options.clock.sleep(this.#backoff.next(error), this.#signal);
  }

  #report(error: unknown): void {
    const { failures, resource } = this.#options;
    const meanwhile = this.#progress.hasState ? "going on with what is known" : "trying again";
    if (error instanceof ConnectionError) {
      // One line for all resources: they share the connection.
      const message = `The apiserver is not reachable, ${meanwhile}`;
      failures.report({ key: "apiserver", message, error });
      return;
    }
    const message = `Cannot follow a resource, ${meanwhile}`;
    const values = { resource: resource.name };
    failures.report({ key: `watch ${resource.name}`, message, error, values });
  }

  #recovered(): void {
    this.#backoff.reset();
    this.#garbage = 0;
  }
}
