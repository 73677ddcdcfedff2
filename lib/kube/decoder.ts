/**
 * Turns the bodies of answers into objects, in the encoding that the server chose. Both encodings
 * decode while bytes arrive; JSON is for servers that have no protobuf, so only watches in it do.
 */
import { readJsonBookmark, readJsonList, readJsonStatus } from "./json/envelope.ts";
import type { ApiObject } from "./objects.ts";
import {
  type ListMeta,
  readBody,
  readBookmark,
  readStatus,
  readWatchFrame,
} from "./protobuf/envelope.ts";
import { Reader, type TextCache } from "./protobuf/reader.ts";
import { FrameSplitter, ListSplitter } from "./protobuf/stream.ts";
import type { Resource } from "./resource.ts";
import type { ApiStatus } from "./status.ts";

/** What a watch says. `error` ends it. */
export type WatchEvent<T extends ApiObject> =
  | { readonly kind: "upsert"; readonly object: T }
  | { readonly kind: "delete"; readonly object: T }
  | {
    readonly kind: "bookmark";
    readonly resourceVersion: string;
    readonly endsInitialEvents: boolean;
  }
  | { readonly kind: "error"; readonly status: ApiStatus };

/** Takes a list's body chunk by chunk. */
export interface ListDecoder<T> {
  push(chunk: Uint8Array): void;
  /** Throws where the list is not complete. */
  end(): ListMeta & { readonly objects: T[] };
}

/** Takes a watch's body chunk by chunk and gives the events that are complete. */
export interface WatchDecoder<T extends ApiObject> {
  push(chunk: Uint8Array): WatchEvent<T>[];
}

/** An encoding by the answer's content type; undefined for one that nobody asked for. */
export type Encoding = "protobuf" | "json";

export function encodingOf(contentType: string): Encoding | undefined {
  if (contentType.startsWith("application/vnd.kubernetes.protobuf")) return "protobuf";
  if (contentType.startsWith("application/json")) return "json";
  return undefined;
}

export interface DecoderOptions {
  readonly encoding: Encoding;
  readonly cache: TextCache;
}

export function listDecoder<T extends ApiObject>(
  resource: Resource<T>,
  options: DecoderOptions,
): ListDecoder<T> {
  return options.encoding === "protobuf"
    ? new ProtobufListDecoder(resource, options.cache)
    : new JsonListDecoder(resource);
}

export function watchDecoder<T extends ApiObject>(
  resource: Resource<T>,
  options: DecoderOptions,
): WatchDecoder<T> {
  return options.encoding === "protobuf"
    ? new ProtobufWatchDecoder(resource, options.cache)
    : new JsonWatchDecoder(resource);
}

/** A single object. */
export function decodeObject<T extends ApiObject>(
  resource: Resource<T>,
  options: DecoderOptions & { readonly body: Uint8Array },
): T {
  const { body, cache, encoding } = options;
  if (encoding === "json") return resource.readJson(parseJson(body));
  return resource.readProtobuf(new Reader(readBody(body, cache).raw, cache));
}

/** A refusal's body, if it is a Status. */
export function decodeStatus(
  options: DecoderOptions & { readonly body: Uint8Array },
): ApiStatus | undefined {
  const { body, cache, encoding } = options;
  try {
    if (encoding === "json") return readJsonStatus(parseJson(body));
    const { kind, raw } = readBody(body, cache);
    return kind === "Status" ? readStatus(raw, cache) : undefined;
  } catch {
    // Proxies in between answer with pages of their own; the HTTP status has to do.
    return undefined;
  }
}

class ProtobufListDecoder<T extends ApiObject> implements ListDecoder<T> {
  readonly #resource: Resource<T>;
  readonly #cache: TextCache;
  readonly #splitter: ListSplitter;
  readonly #objects: T[] = [];

  constructor(resource: Resource<T>, cache: TextCache) {
    this.#resource = resource;
    this.#cache = cache;
    this.#splitter = new ListSplitter(cache);
  }

  push(chunk: Uint8Array): void {
    for (const item of this.#splitter.push(chunk)) {
      this.#objects.push(this.#resource.readProtobuf(new Reader(item, this.#cache)));
    }
  }

  end(): ListMeta & { readonly objects: T[] } {
    return { ...this.#splitter.end(), objects: this.#objects };
  }
}

class ProtobufWatchDecoder<T extends ApiObject> implements WatchDecoder<T> {
  readonly #resource: Resource<T>;
  readonly #cache: TextCache;
  readonly #splitter = new FrameSplitter();

  constructor(resource: Resource<T>, cache: TextCache) {
    this.#resource = resource;
    this.#cache = cache;
  }

  push(chunk: Uint8Array): WatchEvent<T>[] {
    const events: WatchEvent<T>[] = [];
    for (const frame of this.#splitter.push(chunk)) events.push(this.#decode(frame));
    return events;
  }

  #decode(frame: Uint8Array): WatchEvent<T> {
    const { type, body } = readWatchFrame(frame, this.#cache);
    const read = () => this.#resource.readProtobuf(new Reader(body.raw, this.#cache));
    switch (type) {
      case "ADDED":
      case "MODIFIED":
        return { kind: "upsert", object: read() };
      case "DELETED":
        return { kind: "delete", object: read() };
      case "BOOKMARK":
        return { kind: "bookmark", ...readBookmark(body.raw, this.#cache) };
      case "ERROR":
        return { kind: "error", status: readStatus(body.raw, this.#cache) };
      default:
        throw new SyntaxError(`Cannot decode a watch event: unknown type "${type}"`);
    }
  }
}

class JsonListDecoder<T extends ApiObject> implements ListDecoder<T> {
  readonly #resource: Resource<T>;
  readonly #decoder = new TextDecoder();
  #text = "";

  constructor(resource: Resource<T>) {
    this.#resource = resource;
  }

  push(chunk: Uint8Array): void {
    this.#text += this.#decoder.decode(chunk, { stream: true });
  }

  end(): ListMeta & { readonly objects: T[] } {
    const { items, ...meta } = readJsonList(JSON.parse(this.#text));
    return { ...meta, objects: items.map((item) => this.#resource.readJson(item)) };
  }
}

/** One event a line: `{"type":"ADDED","object":{...}}`. */
class JsonWatchDecoder<T extends ApiObject> implements WatchDecoder<T> {
  readonly #resource: Resource<T>;
  readonly #decoder = new TextDecoder();
  #rest = "";

  constructor(resource: Resource<T>) {
    this.#resource = resource;
  }

  push(chunk: Uint8Array): WatchEvent<T>[] {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split("\n");
    this.#rest = lines.pop() ?? "";
    return lines.filter((line) => line !== "").map((line) => this.#decode(JSON.parse(line)));
  }

  #decode(event: { readonly type?: unknown; readonly object?: unknown }): WatchEvent<T> {
    switch (event.type) {
      case "ADDED":
      case "MODIFIED":
        return { kind: "upsert", object: this.#resource.readJson(event.object) };
      case "DELETED":
        return { kind: "delete", object: this.#resource.readJson(event.object) };
      case "BOOKMARK":
        return { kind: "bookmark", ...readJsonBookmark(event.object) };
      case "ERROR":
        return { kind: "error", status: readJsonStatus(event.object) };
      default:
        throw new SyntaxError(`Cannot decode a watch event: unknown type "${event.type}"`);
    }
  }
}

function parseJson(bytes: Uint8Array): unknown {
  return JSON.parse(new TextDecoder().decode(bytes));
}
