/**
 * An apiserver that keeps objects in memory and speaks JSON over TLS: enough of LIST and WATCH for
 * the client and its watches, and willing to fail in every way that a real one does.
 */
import { TestAuthority } from "./certificates.ts";

export interface FakeObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly resourceVersion?: string;
  };
  readonly [field: string]: unknown;
}

/** A request as the server saw it. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  readonly body: string;
  /** Tells connections apart. */
  readonly clientPort: number;
}

interface StoredEvent {
  readonly version: number;
  readonly resource: string;
  readonly type: string;
  readonly object: FakeObject;
}

interface OpenWatch {
  readonly request: SeenRequest;
  readonly resource: string;
  readonly controller: ReadableStreamDefaultController<Uint8Array>;
}

/** Answers in the server's stead; undefined lets the server answer. */
export type Override = (request: SeenRequest) => Response | Promise<Response> | undefined;

/** Disposing closes it with all its connections. */
export class FakeApiserver implements AsyncDisposable {
  readonly authority: TestAuthority;
  readonly requests: SeenRequest[] = [];
  override: Override | undefined;
  readonly #certificate: { readonly certificate: string; readonly key: string };
  readonly #objects = new Map<string, Map<string, FakeObject>>();
  #events: StoredEvent[] = [];
  #watches = new Set<OpenWatch>();
  #version = 100;
  #oldest = 0;
  #server: Deno.HttpServer | undefined;
  #connections = new AbortController();
  #port = 0;

  private constructor(
    authority: TestAuthority,
    certificate: { readonly certificate: string; readonly key: string },
  ) {
    this.authority = authority;
    this.#certificate = certificate;
  }

  /** `inside` calls its argument in the network namespace in which to listen. */
  static async start(
    { inside = (listen: () => void) => listen() } = {},
  ): Promise<FakeApiserver> {
    const authority = await TestAuthority.create("fake-apiserver-ca");
    const names = ["127.0.0.1", "localhost"];
    const certificate = await authority.issue({ commonName: "fake-apiserver", names });
    const server = new FakeApiserver(authority, certificate);
    inside(() => server.listen());
    return server;
  }

  get url(): string {
    return `https://127.0.0.1:${this.#port}`;
  }

  get version(): string {
    return String(this.#version);
  }

  /** The watches that are open now. */
  get openWatches(): readonly SeenRequest[] {
    return [...this.#watches].map(({ request }) => request);
  }

  /** Listens, again on the same port after `stop`. */
  listen(): void {
    const { certificate: cert, key } = this.#certificate;
    this.#connections = new AbortController();
    this.#server = Deno.serve({
      hostname: "127.0.0.1",
      port: this.#port,
      cert,
      key,
      signal: this.#connections.signal,
      onListen: () => {},
      onError: () => new Response(null, { status: 500 }),
    }, (request, { remoteAddr }) => this.#handle(request, remoteAddr.port));
    const { addr } = this.#server;
    if ("port" in addr) this.#port = addr.port;
  }

  /** Breaks all connections and listens no more. */
  async stop(): Promise<void> {
    this.cutWatches(new Error("the server is going away"));
    this.#connections.abort();
    await this.#server?.finished;
  }

  put(resource: string, object: FakeObject): void {
    const key = keyOf(object);
    const stored = this.#store(resource);
    const type = stored.has(key) ? "MODIFIED" : "ADDED";
    this.#record(resource, { type, object });
    stored.set(key, this.#latest(resource));
  }

  delete(resource: string, name: { readonly namespace?: string; readonly name: string }): void {
    const key = keyOf({ metadata: name });
    const object = this.#store(resource).get(key);
    if (!object) return;
    this.#store(resource).delete(key);
    this.#record(resource, { type: "DELETED", object });
  }

  /** Forgets history: a watch from an older version is refused with 410. */
  compact(): void {
    this.#oldest = this.#version;
    this.#events = [];
  }

  /** The data goes back to what an older backup held: nothing, at version 1. */
  restoreOldBackup(): void {
    this.#version = 1;
    this.#oldest = 0;
    this.#events = [];
    this.#objects.clear();
  }

  /** Sends raw bytes into the open watches of a resource. */
  sendRaw(resource: string, text: string): void {
    for (const watch of this.#watches) {
      if (watch.resource === resource) watch.controller.enqueue(encode(text));
    }
  }

  bookmark(resource: string): void {
    const metadata = { resourceVersion: this.version };
    this.sendRaw(resource, `${JSON.stringify({ type: "BOOKMARK", object: { metadata } })}\n`);
  }

  /** The open watches hear nothing any more, and nobody tells them. */
  silenceWatches(): void {
    this.#watches.clear();
  }

  /** Ends all watches: cleanly, or broken off when there is an error. */
  cutWatches(error?: Error): void {
    for (const { controller } of this.#watches) {
      if (error) controller.error(error);
      else controller.close();
    }
    this.#watches.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #handle(request: Request, clientPort: number): Promise<Response> {
    const url = new URL(request.url);
    const seen: SeenRequest = {
      method: request.method,
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: await request.text(),
      clientPort,
    };
    this.requests.push(seen);
    const answer = await this.override?.(seen);
    if (answer) return answer;
    if (seen.path === "/version") return Response.json({ gitVersion: "v1.37.0" });
    const resource = seen.path.split("/").at(-1) ?? "";
    return seen.query.has("watch") ? this.#watch(resource, seen) : this.#list(resource, seen);
  }

  #list(resource: string, request: SeenRequest): Response {
    const wanted = Number(request.query.get("resourceVersion") || "0");
    if (wanted > this.#version) {
      return refusal({
        code: 504,
        reason: "Timeout",
        message: `Too large resource version: ${wanted}, current: ${this.#version}`,
        details: { causes: [{ reason: "ResourceVersionTooLarge" }], retryAfterSeconds: 1 },
      });
    }
    const items = [...this.#store(resource).values()].filter((object) => selects(request, object));
    // As a real one: a limit and a version together mean exactly that version.
    const isExact = wanted > 0 && request.query.has("limit") &&
      !request.query.has("resourceVersionMatch");
    const resourceVersion = isExact ? String(wanted) : this.version;
    return Response.json({ metadata: { resourceVersion }, items });
  }

  #watch(resource: string, request: SeenRequest): Response {
    const from = Number(request.query.get("resourceVersion"));
    if (from < this.#oldest) {
      return refusal({ code: 410, reason: "Expired", message: "too old resource version" });
    }
    let watch: OpenWatch | undefined;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        watch = { request, resource, controller };
        this.#watches.add(watch);
        for (const event of this.#events) if (event.version > from) this.#send(watch, event);
        // Without a byte the answer's head would stay in the server's buffer.
        controller.enqueue(encode("\n"));
      },
      cancel: () => {
        if (watch) this.#watches.delete(watch);
      },
    });
    return new Response(body, { headers: { "content-type": "application/json" } });
  }

  #send(watch: OpenWatch, event: StoredEvent): void {
    if (event.resource !== watch.resource || !selects(watch.request, event.object)) return;
    const { type, object } = event;
    watch.controller.enqueue(encode(`${JSON.stringify({ type, object })}\n`));
  }

  #record(resource: string, change: { readonly type: string; readonly object: FakeObject }): void {
    const version = ++this.#version;
    const metadata = { ...change.object.metadata, resourceVersion: String(version) };
    const event = { version, resource, type: change.type, object: { ...change.object, metadata } };
    this.#events.push(event);
    for (const watch of this.#watches) this.#send(watch, event);
  }

  #latest(resource: string): FakeObject {
    const event = this.#events.findLast((event) => event.resource === resource);
    if (!event) throw new Error("Cannot store an object that was not recorded");
    return event.object;
  }

  #store(resource: string): Map<string, FakeObject> {
    const stored = this.#objects.get(resource) ?? new Map<string, FakeObject>();
    this.#objects.set(resource, stored);
    return stored;
  }
}

/** A refusal as the API words it. */
export function refusal(
  status:
    & { readonly code: number; readonly reason: string; readonly message: string }
    & Record<
      string,
      unknown
    >,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const body = { kind: "Status", apiVersion: "v1", status: "Failure", ...status };
  return Response.json(body, { status: status.code, headers });
}

function keyOf(object: { readonly metadata: FakeObject["metadata"] }): string {
  return `${object.metadata.namespace ?? ""}/${object.metadata.name}`;
}

/** Namespaces of the path, `metadata.namespace!=` terms, and labels that must not be there. */
function selects(request: SeenRequest, { metadata }: FakeObject): boolean {
  const namespace = request.path.match(/\/namespaces\/([^/]+)\/[^/]+$/)?.[1];
  if (namespace !== undefined && namespace !== metadata.namespace) return false;
  const fields = (request.query.get("fieldSelector") ?? "").split(",");
  if (fields.includes(`metadata.namespace!=${metadata.namespace}`)) return false;
  const labels = metadata.labels ?? {};
  return (request.query.get("labelSelector") ?? "").split(",").every((term) => {
    if (term.startsWith("!")) return !(term.slice(1) in labels);
    const [key, value] = term.split("=");
    return term === "" || labels[key] === value;
  });
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
