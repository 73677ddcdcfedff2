/**
 * Requests to one apiserver over as few connections as the server allows. Over HTTP/2, which every
 * apiserver speaks, that is one for all watches: it is renewed when certificates change, and when it
 * turns out to be dead although nobody closed it.
 */
import type { Clock } from "../base/clock.ts";
import { describeError } from "../base/errors.ts";
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

/**
 * How long an answer's head may take. On a connection that is still to be made it starts small,
 * because packets may be lost without a word, and grows, because the server may just be slow.
 */
const headTimeoutMs = 30_000;
const firstHeadTimeoutMs = 3_000;

/** A connection that was good is doubted when an answer takes so long. */
const doubtMs = 5_000;
const versionPath = "/version";

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
  /** Requests in a row that got no answer in time. */
  #timeouts = 0;
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
    const client = this.#clientFor(credentials.tls);
    const turn = await this.#waitForConnection();
    const timeout = new AbortController();
    const timeoutMs = this.#headTimeoutMs();
    const timer = setTimeout(() => timeout.abort(), timeoutMs);
    const doubt = setTimeout(async () => {
      if (request.path !== versionPath && !(await this.isAlive())) timeout.abort();
    }, doubtMs);
    try {
      const response = await fetch(this.#options.access.server + request.path, {
        method: request.method,
        headers: this.#headers(request, credentials),
        body: request.body,
        signal: AbortSignal.any([request.signal, timeout.signal]),
        redirect: "manual",
        client,
      });
      this.#timeouts = 0;
      if (client === this.#client) this.#opened = true;
      this.noteReceived();
      return response;
    } catch (error) {
      if (request.signal.aborted) throw request.signal.reason;
      if (timeout.signal.aborted) this.#timeouts++;
      if (client === this.#client) this.reset();
      const cause = timeout.signal.aborted ? "no answer in time" : connectionCause(error);
      throw new ConnectionError(`Cannot reach apiserver "${this.host}": ${cause}`, {
        cause: error,
      });
    } finally {
      clearTimeout(timer);
      clearTimeout(doubt);
      turn.done();
    }
  }

  #headTimeoutMs(): number {
    if (this.#opened) return headTimeoutMs;
    return Math.min(firstHeadTimeoutMs * 2 ** this.#timeouts, headTimeoutMs);
  }

  /** Cold requests that start together would each open a connection and keep it. */
  async #waitForConnection(): Promise<{ done(): void }> {
    while (!this.#opened && this.#opening) await this.#opening;
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
    this.#tls = tls;
    const { proxyUrl } = this.#options.access;
    this.#client = Deno.createHttpClient({
      ...(tls.certificateAuthority === "" ? {} : { caCerts: [tls.certificateAuthority] }),
      ...(tls.certificate === "" ? {} : { cert: tls.certificate, key: tls.key }),
      ...(proxyUrl === "" ? {} : { proxy: { url: proxyUrl } }),
      poolIdleTimeout: false,
    });
    return this.#client;
  }

  #headers(request: TransportRequest, credentials: CurrentCredentials): Headers {
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
      const response = await this.send({
        method: "GET",
        path: versionPath,
        accept: "application/json",
        signal,
      });
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
