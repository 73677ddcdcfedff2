/** What the program asks an apiserver: lists, watches, single objects, and the few writes. */
import type { Clock } from "../base/clock.ts";
import { linkAbort } from "../base/abort.ts";
import { type BodyOptions, readBody, streamBody } from "./body.ts";
import type { ClientMetrics } from "./client_metrics.ts";
import type { Answer } from "./connection.ts";
import {
  decodeObject,
  decodeStatus,
  type Encoding,
  encodingOf,
  listDecoder,
  watchDecoder,
  type WatchEvent,
} from "./decoder.ts";
import type { ApiObject } from "./objects.ts";
import { TextCache } from "./protobuf/reader.ts";
import {
  collectionPath,
  type ListOptions,
  listQuery,
  type Selection,
  selectionQuery,
} from "./query.ts";
import type { RateLimiter } from "./rate_limiter.ts";
import type { Resource } from "./resource.ts";
import { ApiError, ConnectionError, emptyStatus } from "./status.ts";
import type { Transport, TransportRequest } from "./transport.ts";

export interface KubeClientOptions {
  readonly transport: Transport;
  readonly limiter: RateLimiter;
  readonly metrics: ClientMetrics;
  readonly clock: Clock;
  /** `clientConnection.contentType`; protobuf unless JSON is asked for. */
  readonly contentType?: string;
  /** `clientConnection.acceptContentTypes`: overrides what is accepted. */
  readonly acceptContentTypes?: string;
  readonly timing?: Partial<ClientTiming>;
}

/** How long the server may be silent before it is asked whether it is there. */
export interface ClientTiming {
  /** Nothing at all from the server: ask it whether the connection is alive. */
  readonly connectionSilenceMs: number;
  /** Nothing on one watch, although bookmarks come every minute: its connection may be another one. */
  readonly watchSilenceMs: number;
  /** Nothing of an answer that has begun. */
  readonly bodySilenceMs: number;
}

const defaultTiming: ClientTiming = {
  connectionSilenceMs: 20_000,
  watchSilenceMs: 100_000,
  bodySilenceMs: 30_000,
};

/** A complete state and the version that a watch goes on from. */
export interface ObjectList<T extends ApiObject> {
  readonly objects: readonly T[];
  readonly resourceVersion: string;
}

export interface WatchOptions extends Selection {
  readonly resourceVersion: string;
  /** The server ends the watch after so long, so that load spreads anew over servers. */
  readonly timeoutSeconds: number;
  readonly signal: AbortSignal;
}

export interface ObjectName {
  readonly namespace?: string;
  readonly name: string;
  readonly signal: AbortSignal;
}

/** A write, or any other request in JSON. */
export interface JsonRequest {
  readonly method: "DELETE" | "GET" | "PATCH" | "POST" | "PUT";
  readonly path: string;
  readonly contentType?: string;
  readonly body?: unknown;
  readonly signal: AbortSignal;
}

const protobuf = "application/vnd.kubernetes.protobuf";

type Reading = Pick<BodyOptions, "signal" | "silenceMs">;

/** Throws ApiError for a refusal, ConnectionError where no or half an answer came, SyntaxError for garbage. */
export class KubeClient implements Disposable {
  readonly #options: KubeClientOptions;
  readonly #timing: ClientTiming;
  readonly #cache = new TextCache();

  constructor(options: KubeClientOptions) {
    this.#options = options;
    this.#timing = { ...defaultTiming, ...options.timing };
  }

  /** All objects; pages are followed where the server makes any, and count as one state. */
  async list<T extends ApiObject>(
    resource: Resource<T>,
    options: ListOptions,
  ): Promise<ObjectList<T>> {
    const objects: T[] = [];
    let continueToken = "";
    for (;;) {
      const query = listQuery(options, continueToken);
      const page = await this.#page(resource, { ...options, query });
      for (const object of page.objects) objects.push(object);
      continueToken = page.continueToken;
      if (continueToken === "") return { objects, resourceVersion: page.resourceVersion };
    }
  }

  /**
   * Events after the given version, in batches as they arrive, until the server ends the watch. A
   * connection that stays silent for too long is a ConnectionError.
   */
  async *watch<T extends ApiObject>(
    resource: Resource<T>,
    options: WatchOptions,
  ): AsyncGenerator<WatchEvent<T>[]> {
    const query = selectionQuery(options);
    query.set("watch", "true");
    query.set("allowWatchBookmarks", "true");
    query.set("resourceVersion", options.resourceVersion);
    query.set("timeoutSeconds", String(options.timeoutSeconds));
    using abort = linkAbort(options.signal);
    const { signal } = abort;
    const path = `${collectionPath(resource, options.namespace)}?${query}`;
    const action = `watch ${resource.name}`;
    try {
      const accept = this.#accept(resource, "PartialObjectMetadata");
      const answer = await this.#send(action, { method: "GET", path, accept, signal });
      const encoding = expectEncoding(answer, action);
      const decoder = watchDecoder(resource, { encoding, cache: this.#cache });
      for await (
        const chunk of this.#chunks(answer, { silenceMs: this.#timing.watchSilenceMs, signal })
      ) {
        const events = decoder.push(chunk);
        const objects = events.length;
        this.#options.metrics.received(resource.name, { bytes: chunk.length, objects });
        if (events.length > 0) yield events;
      }
    } finally {
      abort.abort();
    }
  }

  async get<T extends ApiObject>(resource: Resource<T>, name: ObjectName): Promise<T> {
    await this.#limit("GET", name.signal);
    const path = `${collectionPath(resource, name.namespace)}/${encodeURIComponent(name.name)}`;
    const accept = this.#accept(resource, "PartialObjectMetadata");
    const action = `get ${resource.name} "${name.name}"`;
    const request = { method: "GET", path, accept, signal: name.signal };
    const answer = await this.#send(action, request);
    const encoding = expectEncoding(answer, action);
    const body = await this.#body(answer, name.signal);
    this.#responseRead("GET", body.length);
    return decodeObject(resource, { encoding, cache: this.#cache, body });
  }

  /** Resolves with the answer's JSON, which nobody has checked. */
  async json(request: JsonRequest): Promise<unknown> {
    await this.#limit(request.method, request.signal);
    const hasBody = request.body !== undefined;
    const action = `${request.method} ${request.path}`;
    const answer = await this.#send(action, {
      method: request.method,
      path: request.path,
      accept: "application/json",
      ...(hasBody ? { contentType: request.contentType ?? "application/json" } : {}),
      ...(hasBody ? { body: JSON.stringify(request.body) } : {}),
      signal: request.signal,
    });
    expectEncoding(answer, action);
    const body = await this.#body(answer, request.signal);
    this.#responseRead(request.method, body.length);
    return JSON.parse(new TextDecoder().decode(body));
  }

  /** Closes the connections. */
  [Symbol.dispose](): void {
    this.#options.transport[Symbol.dispose]();
  }

  async #page<T extends ApiObject>(
    resource: Resource<T>,
    options: ListOptions & { readonly query: URLSearchParams },
  ) {
    await this.#limit("GET", options.signal);
    const path = `${collectionPath(resource, options.namespace)}?${options.query}`;
    const accept = this.#accept(resource, "PartialObjectMetadataList");
    const request = { method: "GET", path, accept, signal: options.signal };
    const action = `list ${resource.name}`;
    const answer = await this.#send(action, request);
    const encoding = expectEncoding(answer, action);
    const decoder = listDecoder(resource, { encoding, cache: this.#cache });
    let bytes = 0;
    for await (const chunk of this.#chunks(answer, this.#bodyTiming(options.signal))) {
      bytes += chunk.length;
      decoder.push(chunk);
    }
    const page = decoder.end();
    this.#responseRead("GET", bytes);
    this.#options.metrics.received(resource.name, { bytes, objects: page.objects.length });
    return page;
  }

  /** Sends, counts, and turns a refusal into an ApiError. */
  async #send(action: string, request: TransportRequest): Promise<Answer> {
    const { transport, metrics, clock } = this.#options;
    const started = clock.monotonic();
    const finished = (code: string) =>
      metrics.requestFinished({
        method: request.method,
        host: transport.host,
        code,
        durationMs: clock.monotonic() - started,
        requestBytes: request.body?.length ?? 0,
      });
    let answer: Answer;
    try {
      answer = await transport.send(request);
    } catch (error) {
      if (!request.signal.aborted) finished("<error>");
      throw error;
    }
    const { response } = answer;
    finished(String(response.status));
    if (response.ok) return answer;
    throw await this.#refusal(action, answer, request.signal);
  }

  async #refusal(action: string, answer: Answer, signal: AbortSignal): Promise<ApiError> {
    const { response } = answer;
    const body = await this.#body(answer, signal).catch(() => new Uint8Array());
    const encoding = encodingOf(response.headers.get("content-type") ?? "") ?? "json";
    const status = decodeStatus({ encoding, cache: this.#cache, body }) ?? emptyStatus;
    const seconds = Number(response.headers.get("retry-after") ?? "0");
    const cause = status.message || `HTTP status ${response.status}`;
    return new ApiError(`Cannot ${action}: ${cause}`, {
      ...status,
      code: response.status,
      retryAfterMs: Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : status.retryAfterMs,
    });
  }

  #responseRead(method: string, bytes: number): void {
    const { metrics, transport } = this.#options;
    metrics.responseRead({ method, host: transport.host, bytes });
  }

  #body(answer: Answer, signal: AbortSignal): Promise<Uint8Array> {
    return readBody(answer, this.#bodyOptions(this.#bodyTiming(signal)));
  }

  #chunks(answer: Answer, reading: Reading): AsyncGenerator<Uint8Array> {
    return streamBody(answer, this.#bodyOptions(reading));
  }

  #bodyTiming(signal: AbortSignal): Reading {
    return { silenceMs: this.#timing.bodySilenceMs, signal };
  }

  #bodyOptions(reading: Reading): BodyOptions {
    const { connectionSilenceMs } = this.#timing;
    return { clock: this.#options.clock, connectionSilenceMs, ...reading };
  }

  async #limit(method: string, signal: AbortSignal): Promise<void> {
    const { limiter, metrics, transport } = this.#options;
    const waitedMs = await limiter.wait(signal);
    metrics.rateLimited({ method, host: transport.host, waitedMs });
  }

  /** Protobuf first, JSON where the server has none; the metadata of objects alone where it will do. */
  #accept<T extends ApiObject>(resource: Resource<T>, partialKind: string): string {
    const { acceptContentTypes = "", contentType = "" } = this.#options;
    const partial = `;as=${partialKind};g=meta.k8s.io;v=v1`;
    const types = acceptContentTypes !== ""
      ? acceptContentTypes.split(",").map((type) => type.trim())
      : contentType === "" || contentType === protobuf
      ? [protobuf, "application/json"]
      : [contentType, "application/json"];
    if (!resource.metadataOnly) return types.join(",");
    return [...types.map((type) => type + partial), ...types].join(",");
  }
}

function expectEncoding({ response }: Answer, action: string): Encoding {
  const contentType = response.headers.get("content-type") ?? "";
  const encoding = encodingOf(contentType);
  if (encoding) return encoding;
  response.body?.cancel().catch(() => {});
  throw new ConnectionError(
    `Cannot ${action}: the answer is "${contentType}", which no apiserver sends; look for a proxy in between`,
  );
}
