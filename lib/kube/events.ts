/**
 * Events written to the apiserver (events.k8s.io/v1), as upstream writes them: the first occurrence
 * creates an Event, later ones of the same kind become its series by patches.
 */
import { linkAbort } from "../base/abort.ts";
import type { Clock } from "../base/clock.ts";
import type { EventSink, ObjectEvent } from "../base/event_sink.ts";
import type { Logger } from "../base/log.ts";
import type { KubeClient } from "./client.ts";
import { ApiError } from "./status.ts";

export interface ApiEventSinkOptions {
  readonly client: Pick<KubeClient, "json">;
  /** The machine's own name, whatever the Node is called. */
  readonly hostName: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random?: () => number;
}

/** What became of one kind of event. */
interface Series {
  readonly key: string;
  readonly name: string;
  readonly collectionPath: string;
  readonly manifest: object;
  created: boolean;
  count: number;
  writtenCount: number;
  lastObservedMs: number;
}

const controller = "kube-proxy";
const maxQueued = 1_000;
const maxTries = 12;
const retryMs = 10_000;
const requestTimeoutMs = 30_000;
/** A series rests so long between patches, and is over when nothing happened for as long. */
const seriesMs = 6 * 60_000;
const maxNoteLength = 1_024;
/** How long the end waits for an apiserver to take what is still to be told. */
const lastWordsMs = 500;

/** Queues events and writes them one after the other while `run` does. */
export class ApiEventSink implements EventSink, AsyncDisposable {
  readonly #options: ApiEventSinkOptions;
  readonly #series = new Map<string, Series>();
  readonly #queue: Series[] = [];
  #wake = Promise.withResolvers<void>();
  #isRefused = false;
  #hasSaidSo = false;
  #sequence = 0;

  constructor(options: ApiEventSinkOptions) {
    this.#options = options;
  }

  emit(event: ObjectEvent): void {
    if (this.#isRefused) return;
    const now = this.#options.clock.now();
    const key = seriesKey(event);
    const known = this.#series.get(key);
    if (known) {
      known.count++;
      known.lastObservedMs = now;
      // The second one shows that there is a series; how long it grows is told now and then.
      if (known.count === 2) this.#enqueue(known);
      return;
    }
    if (this.#series.size >= maxQueued) return;
    const series = this.#createSeries(event, { key, nowMs: now });
    this.#series.set(key, series);
    this.#enqueue(series);
  }

  /** Writes what was emitted, and goes on until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    signal.addEventListener("abort", () => this.#wake.resolve(), { once: true });
    let tidiedMs = clock.monotonic();
    while (!signal.aborted) {
      const next = this.#queue.shift();
      if (next) {
        await this.#write(next, signal);
        continue;
      }
      this.#wake = Promise.withResolvers<void>();
      if (signal.aborted) return;
      const rest = new AbortController();
      await Promise.race([this.#wake.promise, clock.sleep(seriesMs, rest.signal)]);
      rest.abort();
      if (clock.monotonic() - tidiedMs < seriesMs) continue;
      tidiedMs = clock.monotonic();
      this.#tidy();
    }
  }

  /** Writes what is left once `run` has ended, such as why it all ended; not for long, and only once. */
  async [Symbol.asyncDispose](): Promise<void> {
    using bounded = linkAbort(new AbortController().signal, { afterMs: lastWordsMs });
    try {
      for (const series of this.#queue.splice(0)) await this.#send(series, bounded.signal);
    } catch (error) {
      this.#options.log.verbose(2, "Cannot write the last events", { error });
    }
  }

  #createSeries(event: ObjectEvent, { key, nowMs }: { key: string; nowMs: number }): Series {
    const { about } = event;
    const namespace = about.namespace || "default";
    const nanoseconds = BigInt(nowMs) * 1_000_000n + BigInt(this.#sequence++ % 1_000_000);
    const name = `${about.name}.${nanoseconds.toString(16)}`;
    const regarding = about.namespace === ""
      ? { apiVersion: "v1", kind: about.kind, name: about.name }
      : { apiVersion: "v1", kind: about.kind, name: about.name, namespace };
    return {
      key,
      name,
      collectionPath: `/apis/events.k8s.io/v1/namespaces/${namespace}/events`,
      manifest: {
        apiVersion: "events.k8s.io/v1",
        kind: "Event",
        metadata: { name, namespace },
        eventTime: microTime(nowMs),
        reportingController: controller,
        reportingInstance: `${controller}-${this.#options.hostName}`,
        regarding,
        type: event.type,
        reason: event.reason,
        action: event.action,
        note: event.note.slice(0, maxNoteLength),
      },
      created: false,
      count: 1,
      writtenCount: 0,
      lastObservedMs: nowMs,
    };
  }

  #enqueue(series: Series): void {
    if (this.#queue.length >= maxQueued) return;
    this.#queue.push(series);
    this.#wake.resolve();
  }

  async #write(series: Series, signal: AbortSignal): Promise<void> {
    const { clock, log, random = Math.random } = this.#options;
    // It happened again while it was being written, and that was told already.
    if (series.writtenCount === series.count) return;
    for (let tries = 0; tries < maxTries && !signal.aborted; tries++) {
      const count = series.count;
      try {
        await this.#send(series, signal);
        series.writtenCount = count;
        this.#hasSaidSo = false;
        return;
      } catch (error) {
        if (error instanceof ApiError && !error.isOverloaded) {
          return this.#drop(series, error);
        }
        if (signal.aborted) break;
        log.verbose(2, "Cannot write an event yet", { error });
        await clock.sleep(retryMs * (1 + random() / 4), signal);
      }
    }
    // Cut off by the end: the last words are still to come.
    if (signal.aborted) this.#queue.unshift(series);
  }

  async #send(series: Series, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    using bounded = linkAbort(signal, { afterMs: requestTimeoutMs });
    if (!series.created) {
      const { collectionPath: path, manifest: body } = series;
      await client.json({ method: "POST", path, body, signal: bounded.signal });
      series.created = true;
      if (series.count === 1) return;
    }
    await client.json({
      method: "PATCH",
      path: `${series.collectionPath}/${series.name}`,
      contentType: "application/merge-patch+json",
      body: {
        series: { count: series.count, lastObservedTime: microTime(series.lastObservedMs) },
      },
      signal: bounded.signal,
    });
  }

  /** A refusal will not pass by itself: say so once, and take no more where events are not allowed at all. */
  #drop(series: Series, error: ApiError): void {
    // The next occurrence begins a new series: this one's Event may have expired.
    this.#series.delete(series.key);
    if (error.isForbidden) {
      this.#isRefused = true;
      this.#queue.length = 0;
      this.#series.clear();
    }
    if (this.#hasSaidSo) return;
    this.#hasSaidSo = true;
    this.#options.log.warning("The apiserver refused an event, dropping it", {
      cause: error.message,
    });
  }

  /** Tells how far the running series have come, and forgets those that are over. */
  #tidy(): void {
    const now = this.#options.clock.now();
    for (const [key, series] of this.#series) {
      if (series.count > series.writtenCount) this.#enqueue(series);
      else if (now - series.lastObservedMs >= seriesMs) this.#series.delete(key);
    }
  }
}

/** Equal texts mean the same thing happened again. */
function seriesKey({ about, type, reason, action, note }: ObjectEvent): string {
  return JSON.stringify([about.kind, about.namespace, about.name, type, reason, action, note]);
}

/** meta/v1 MicroTime: always six digits behind the point. */
function microTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace("Z", "000Z");
}
