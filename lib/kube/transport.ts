/**
 * Requests to one apiserver over as few connections as the server allows. Over HTTP/2, which every
 * apiserver speaks, that is one for all watches: it is renewed when certificates change, and when it
 * turns out to be dead although nobody closed it.
 */
import { linkAbort, untilAborted } from "../base/abort.ts";
import type { Clock } from "../base/clock.ts";
import { describeError } from "../base/errors.ts";
import { requireMatchingKey } from "./credentials/key_pair.ts";
import type { Credentials, CurrentCredentials, TlsMaterial } from "./credentials/credentials.ts";
import type { ClusterAccess } from "./credentials/kubeconfig.ts";
import { ConnectionError } from "./status.ts";

export interface TransportOptions {
  readonly access: ClusterAccess;
  readonly credentials: Credentials;
  readonly userAgent: string;
  readonly clock: Clock;
  /** How long a silent server may take to answer the question whether it is there. */
  readonly probeTimeoutMs?: number;
}

/** One request. `path` begins with a slash and holds the query. */
export interface TransportRequest {
  readonly method: string;
  readonly path: string;
  readonly accept: string;
  readonly contentType?: string;
  readonly body?: string;
  readonly signal: AbortSignal;
}

const defaultProbeTimeoutMs = 10_000;

/** How long an answer's head may take. */
const headTimeoutMs = 30_000;

/**
 * While a connection is being made, packets may be lost without a word, and the kernel asks again
 * ever more seldom: up to half a minute after the network is back. So others try beside it.
 */
const besideMs = 2_000;

/** A connection that was good is doubted when an answer takes so long. */
const doubtMs = 5_000;
const versionPath = "/version";
const versionRequest = { method: "GET", path: versionPath, accept: "application/json" };

/** A request on its way, perhaps on a connection still to be made; `over` aborts at its end. */
interface Opening {
  readonly client: Deno.HttpClient;
  readonly credentials: CurrentCredentials;
  readonly over: AbortSignal;
}

/** What a request is sent with. */
interface Sending {
  readonly client: Deno.HttpClient;
  readonly credentials: CurrentCredentials;
  readonly signal: AbortSignal;
}

/** The connections to one apiserver. */
export class Transport implements Disposable {
  /** `host:port` of the server, as metrics name it. */
  readonly host: string;
  readonly #options: TransportOptions;
  #client: Deno.HttpClient | undefined;
  #tls: TlsMaterial | undefined;
  /** While the first request of a client opens its connection, the others wait to share it. */
  #opening: Promise<void> | undefined;
  #opened = false;
  #lastReceivedMs: number;
  #probe: Promise<boolean> | undefined;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.host = new URL(options.access.server).host;
    this.#lastReceivedMs = options.clock.monotonic();
  }

  /**
   * Sends the request and resolves with the answer's head, whatever its status. Throws a
   * ConnectionError where there is no answer.
   */
  async send(request: TransportRequest): Promise<Response> {
    const response = await this.#attempt(request, { refresh: false });
    if (response.status !== 401) return response;
    // Tokens and plugin answers may have been rotated since they were read: ask once more.
    await response.body?.cancel();
    return this.#attempt(request, { refresh: true });
  }

  /** Whoever reads an answer's body says so: bytes prove that the connection is alive. */
  noteReceived(): void {
    this.#lastReceivedMs = this.#options.clock.monotonic();
  }

  /** Milliseconds since anything was received from the server. */
  get silentMs(): number {
    return this.#options.clock.monotonic() - this.#lastReceivedMs;
  }

  /**
   * Asks the server for its version, a request that costs it nothing, to learn whether a silent
   * connection still is one. Where it is not, the next request opens a new one. Callers at the same
   * time share one question.
   */
  isAlive(): Promise<boolean> {
    this.#probe ??= this.#askVersion().finally(() => this.#probe = undefined);
    return this.#probe;
  }

  /** Gives up the connections at hand; running requests go on until they end by themselves. */
  reset(): void {
    this.#client?.close();
    this.#client = undefined;
    this.#opened = false;
  }

  [Symbol.dispose](): void {
    this.reset();
  }

  async #attempt(
    request: TransportRequest,
    options: { readonly refresh: boolean },
  ): Promise<Response> {
    const credentials = await this.#options.credentials.current(options);
    const turn = await this.#waitForConnection(request.signal);
    const over = new AbortController();
    try {
      const client = this.#clientFor(credentials.tls);
      const answer = await this.#answer(request, { client, credentials, over: over.signal });
      if (answer) return answer;
    } finally {
      over.abort();
      turn.done();
    }
    return this.#attempt(request, options);
  }

  /** Undefined when another connection came to be in the meantime, and the request may be repeated. */
  async #answer(
    request: TransportRequest,
    { client, credentials, over }: Opening,
  ): Promise<Response | undefined> {
    using waiting = linkAbort(request.signal, { afterMs: headTimeoutMs });
    let replaced = false;
    const abort = (byAnother: boolean) => {
      replaced = byAnother;
      waiting.abort();
    };
    if (this.#opened) this.#doubt(request, { over, abort });
    else this.#openBeside({ client, credentials, over }, abort);
    try {
      const { signal } = waiting;
      const response = await this.#fetch(request, { client, credentials, signal });
      if (client === this.#client) this.#opened = true;
      this.noteReceived();
      return response;
    } catch (error) {
      if (request.signal.aborted) throw request.signal.reason;
      if (client === this.#client) this.reset();
      if (replaced && request.method === "GET") return undefined;
      const cause = waiting.signal.aborted ? "no answer in time" : connectionCause(error);
      throw new ConnectionError(`Cannot reach apiserver "${this.host}": ${cause}`, {
        cause: error,
      });
    }
  }

  #fetch(
    request: Omit<TransportRequest, "signal">,
    { client, credentials, signal }: Sending,
  ): Promise<Response> {
    return fetch(this.#options.access.server + request.path, {
      method: request.method,
      headers: this.#headers(request, credentials),
      body: request.body,
      signal,
      redirect: "manual",
      client,
    });
  }

  /** An answer on a connection that was good takes long: is there still somebody? */
  async #doubt(
    request: TransportRequest,
    { over, abort }: { readonly over: AbortSignal; readonly abort: (byAnother: boolean) => void },
  ): Promise<void> {
    await this.#options.clock.sleep(doubtMs, over);
    if (over.aborted || request.path === versionPath) return;
    if (!(await this.isAlive()) && !over.aborted) abort(false);
  }

  /**
   * Tries other connections as long as the first one of this client is not made; one that comes to
   * be takes its place.
   */
  async #openBeside(
    { client, credentials, over }: Opening,
    abort: (byAnother: boolean) => void,
  ): Promise<void> {
    const { clock } = this.#options;
    await clock.sleep(besideMs, over);
    while (!over.aborted) {
      const started = clock.monotonic();
      const fresh = this.#createClient(credentials.tls);
      using waiting = linkAbort(over, { afterMs: besideMs });
      const { signal } = waiting;
      try {
        const response = await this.#fetch(versionRequest, { client: fresh, credentials, signal });
        await response.body?.cancel();
        if (client === this.#client && !over.aborted) {
          client.close();
          this.#client = fresh;
          this.#opened = true;
          return abort(true);
        }
      } catch {
        // What is told is the first connection's own failure.
      }
      fresh.close();
      await clock.sleep(besideMs - (clock.monotonic() - started), over);
    }
  }

  /** Cold requests that start together would each open a connection and keep it. */
  async #waitForConnection(signal: AbortSignal): Promise<{ done(): void }> {
    while (!this.#opened && this.#opening && !signal.aborted) {
      using waiting = linkAbort(signal);
      await Promise.race([this.#opening, untilAborted(waiting.signal)]);
    }
    signal.throwIfAborted();
    if (this.#opened) return { done: () => {} };
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#opening = promise;
    return {
      done: () => {
        this.#opening = undefined;
        resolve();
      },
    };
  }

  #clientFor(tls: TlsMaterial): Deno.HttpClient {
    if (this.#client && this.#tls && sameTls(this.#tls, tls)) return this.#client;
    this.reset();
    this.#client = this.#createClient(tls);
    this.#tls = tls;
    return this.#client;
  }

  #createClient(tls: TlsMaterial): Deno.HttpClient {
    const { proxyUrl } = this.#options.access;
    if (tls.certificate !== "") requireMatchingKey(tls.certificate, tls.key);
    return Deno.createHttpClient({
      ...(tls.certificateAuthority === "" ? {} : { caCerts: [tls.certificateAuthority] }),
      ...(tls.certificate === "" ? {} : { cert: tls.certificate, key: tls.key }),
      ...(proxyUrl === "" ? {} : { proxy: { url: proxyUrl } }),
      poolIdleTimeout: false,
    });
  }

  #headers(
    request: Omit<TransportRequest, "signal">,
    credentials: CurrentCredentials,
  ): Headers {
    const headers = new Headers({ accept: request.accept, "user-agent": this.#options.userAgent });
    if (request.contentType) headers.set("content-type", request.contentType);
    if (this.#options.access.disableCompression) headers.set("accept-encoding", "identity");
    for (const [name, value] of credentials.headers) headers.append(name, value);
    return headers;
  }

  async #askVersion(): Promise<boolean> {
    const { probeTimeoutMs = defaultProbeTimeoutMs } = this.#options;
    const signal = AbortSignal.timeout(probeTimeoutMs);
    try {
      const response = await this.send({ ...versionRequest, signal });
      await response.body?.cancel();
      return true;
    } catch {
      this.reset();
      return false;
    }
  }
}

function sameTls(a: TlsMaterial, b: TlsMaterial): boolean {
  return a.certificateAuthority === b.certificateAuthority && a.certificate === b.certificate &&
    a.key === b.key;
}

/**
 * Deno words it `error sending request for url (https://...): client error (Connect): tcp connect
 * error: Connection refused (os error 111)`: only what stands behind the last bracket tells.
 */
function connectionCause(error: unknown): string {
  return describeError(error).replace(/^error sending request.*?client error \(\w+\): /, "");
}
