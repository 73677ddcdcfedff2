/** Stands between a client and a server, as load balancers and proxies do, and misbehaves as they do. */

/** What becomes of a connection: passed on, closed at once, never answered, or answered with nonsense. */
export type RelayMode = "forward" | "close" | "silent" | "garbage";

/** Passes bytes on and understands none. */
export class TcpRelay implements Disposable {
  mode: RelayMode = "forward";
  /** Connections since the beginning. */
  accepted = 0;
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #target: { readonly hostname: string; readonly port: number };
  readonly #open = new Set<Deno.Conn>();

  constructor(targetUrl: string) {
    const { hostname, port } = new URL(targetUrl);
    this.#target = { hostname, port: Number(port) };
    this.#serve();
  }

  get host(): string {
    return `127.0.0.1:${this.#listener.addr.port}`;
  }

  /** Breaks the connections that are open. */
  cut(): void {
    for (const connection of this.#open) close(connection);
    this.#open.clear();
  }

  [Symbol.dispose](): void {
    this.#listener.close();
    this.cut();
  }

  async #serve(): Promise<void> {
    for await (const client of this.#listener) {
      this.accepted++;
      this.#open.add(client);
      // A connection that breaks is what this is for.
      this.#treat(client).catch(() => {});
    }
  }

  async #treat(client: Deno.Conn): Promise<void> {
    if (this.mode === "close") return close(client);
    if (this.mode === "silent") return;
    if (this.mode === "garbage") {
      await client.write(new TextEncoder().encode("SSH-2.0-not what you wanted\r\n"));
      return close(client);
    }
    const server = await Deno.connect(this.#target);
    this.#open.add(server);
    await Promise.allSettled([
      client.readable.pipeTo(server.writable),
      server.readable.pipeTo(client.writable),
    ]);
  }
}

export interface TlsRelayOptions {
  readonly targetUrl: string;
  /** That of the target. */
  readonly caCertificate: string;
  readonly certificate: { readonly certificate: string; readonly key: string };
}

/** Understands HTTP: it can answer by itself, and reach into the bodies of answers. */
export class HttpRelay implements AsyncDisposable {
  /** Answers in the target's stead where it gives something. */
  answer: ((request: Request) => Response | undefined) | undefined;
  /** Changes each chunk of the watches; undefined ends them. */
  watchChunk: ((chunk: Uint8Array) => Uint8Array | undefined) | undefined;
  /** Requests since the beginning, as method and path with query. */
  readonly requests: string[] = [];
  readonly #options: TlsRelayOptions;
  readonly #client: Deno.HttpClient;
  readonly #stop = new AbortController();
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  #watches = new Set<AbortController>();

  constructor(options: TlsRelayOptions) {
    this.#options = options;
    this.#client = Deno.createHttpClient({ caCerts: [options.caCertificate] });
    this.#server = Deno.serve({
      hostname: "127.0.0.1",
      port: 0,
      cert: options.certificate.certificate,
      key: options.certificate.key,
      signal: this.#stop.signal,
      onListen: () => {},
      onError: () => new Response(null, { status: 502 }),
    }, (request) => this.#handle(request));
  }

  get url(): string {
    return `https://127.0.0.1:${this.#server.addr.port}`;
  }

  /** Breaks the watches that are open. */
  cutWatches(): void {
    for (const watch of this.#watches) watch.abort();
    this.#watches.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cutWatches();
    this.#stop.abort();
    await this.#server.finished;
    this.#client.close();
  }

  async #handle(request: Request): Promise<Response> {
    const { pathname, search, searchParams } = new URL(request.url);
    this.requests.push(`${request.method} ${pathname}${search}`);
    const own = this.answer?.(request);
    if (own) return own;
    const abort = new AbortController();
    const response = await fetch(this.#options.targetUrl + pathname + search, {
      method: request.method,
      headers: request.headers,
      client: this.#client,
      signal: abort.signal,
    });
    const headers = new Headers(response.headers);
    headers.delete("content-encoding");
    headers.delete("content-length");
    const { status } = response;
    if (!searchParams.has("watch") || !response.body) {
      return new Response(response.body, { status, headers });
    }
    this.#watches.add(abort);
    return new Response(response.body.pipeThrough(this.#treated()), { status, headers });
  }

  #treated(): TransformStream<Uint8Array, Uint8Array> {
    return new TransformStream({
      transform: (chunk, controller) => {
        const treated = this.watchChunk ? this.watchChunk(chunk) : chunk;
        if (treated) controller.enqueue(treated);
        else controller.terminate();
      },
    });
  }
}

function close(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // Closed by the other side already.
  }
}
