/**
 * Requests to one apiserver over as few connections as the server allows. Over HTTP/2, which every
 * apiserver speaks, that is one for all watches: it is renewed when certificates change, and when it
 * turns out to be dead although nobody closed it.
 */
import { linkAbort, untilAborted } from "../base/abort.ts";
import type { Clock } from "../base/clock.ts";
import { describeError } from "../base/errors.ts";
import { type Answer, Connection } from "./connection.ts";
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
 * Where packets are lost without a word, the kernel repeats what it sent ever more seldom: up to half
 * a minute after the network is back. So after this long others try beside it.
 */
const besideMs = 2_000;

/** A connection that was good is doubted when an answer takes so long. */
const doubtMs = 5_000;
/** A question that costs the server nothing. */
const versionRequest = { method: "GET", path: "/version", accept: "application/json" };

/** What a request is sent with. */
interface Sending {
  readonly connection: Connection;
  readonly credentials: CurrentCredentials;
  readonly signal: AbortSignal;
}

/** A request on its way; `over` aborts at its end. */
interface Pending {
  readonly connection: Connection;
  readonly credentials: CurrentCredentials;
  readonly over: AbortSignal;
}

/** The connections to one apiserver. */
export class Transport implements Disposable {
  /** `host:port` of the server, as metrics name it. */
  readonly host: string;
  readonly #options: TransportOptions;
  #current: Connection | undefined;
  /** While the first request of a connection opens it, the others wait to share it. */
  #opening: Promise<void> | undefined;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.host = new URL(options.access.server).host;
  }

  /**
   * Sends the request and resolves with the answer's head, whatever its status. Throws a
   * ConnectionError where there is no answer.
   */
  async send(request: TransportRequest): Promise<Answer> {
    const answer = await this.#attempt(request, { refresh: false });
    if (answer.response.status !== 401) return answer;
    // Tokens and plugin answers may have been rotated since they were read: ask once more.
    await answer.response.body?.cancel();
    return this.#attempt(request, { refresh: true });
  }

  [Symbol.dispose](): void {
    this.#current?.close();
    this.#current = undefined;
  }

  async #attempt(
    request: TransportRequest,
    options: { readonly refresh: boolean },
  ): Promise<Answer> {
    const credentials = await this.#options.credentials.current(options);
    const turn = await this.#waitForConnection(request.signal);
    const over = new AbortController();
    try {
      const connection = this.#connectionFor(credentials.tls);
      const answer = await this.#answer(request, { connection, credentials, over: over.signal });
      if (answer) return answer;
    } finally {
      over.abort();
      turn.done();
    }
    return this.#attempt(request, options);
  }

  /** Undefined when another connection came to be in the meantime, and the request may be repeated. */
  async #answer(request: TransportRequest, pending: Pending): Promise<Answer | undefined> {
    const { connection, credentials } = pending;
    using waiting = linkAbort(request.signal, { afterMs: headTimeoutMs });
    let replaced = false;
    if (connection.opened) this.#doubt(pending, () => waiting.abort());
    else {
      this.#tryBeside(pending, () => {
        replaced = true;
        waiting.abort();
      });
    }
    try {
      const { signal } = waiting;
      const response = await this.#fetch(request, { connection, credentials, signal });
      connection.noteReceived();
      return { response, connection };
    } catch (error) {
      if (request.signal.aborted) throw request.signal.reason;
      this.#retire(connection);
      if (replaced && request.method === "GET") return undefined;
      const cause = waiting.signal.aborted ? "no answer in time" : connectionCause(error);
      throw new ConnectionError(`Cannot reach apiserver "${this.host}": ${cause}`, {
        cause: error,
      });
    }
  }

  #fetch(
    request: Omit<TransportRequest, "signal">,
    { connection, credentials, signal }: Sending,
  ): Promise<Response> {
    return fetch(this.#options.access.server + request.path, {
      method: request.method,
      headers: this.#headers(request, credentials),
      body: request.body,
      signal,
      redirect: "manual",
      client: connection.client,
    });
  }

  /** An answer on a connection that was good takes long: is there still somebody? */
  async #doubt({ connection, over }: Pending, abort: () => void): Promise<void> {
    // As long as bytes of other answers come, there is.
    for (let waitMs = doubtMs; waitMs > 0; waitMs = doubtMs - connection.silentMs) {
      await this.#options.clock.sleep(waitMs, over);
      if (over.aborted) return;
    }
    if (!(await connection.isAlive()) && !over.aborted) abort();
  }

  /**
   * Whether the server still answers over a connection that fell silent. It is dead as soon as a
   * fresh one gets an answer first.
   */
  async #ask(connection: Connection): Promise<boolean> {
    const { clock, credentials: source, probeTimeoutMs = defaultProbeTimeoutMs } = this.#options;
    const credentials = await source.current({ refresh: false }).catch(() => undefined);
    // Files that cannot be read say nothing about the server.
    if (!credentials) return true;
    const asked = clock.monotonic();
    const over = new AbortController();
    using waiting = linkAbort(over.signal, { afterMs: probeTimeoutMs });
    const { signal } = waiting;
    try {
      this.#tryBeside({ connection, credentials, over: over.signal }, () => waiting.abort());
      const response = await this.#fetch(versionRequest, { connection, credentials, signal });
      await response.body?.cancel();
      connection.noteReceived();
      return true;
    } catch {
      // Bytes of another answer came meanwhile.
      if (connection.hasReceivedSince(asked)) return true;
      this.#retire(connection);
      connection.giveUp();
      return false;
    } finally {
      over.abort();
    }
  }

  /**
   * Tries other connections as long as this one is silent, until the end of the request; one that
   * gets an answer takes its place.
   */
  async #tryBeside(
    { connection, credentials, over }: Pending,
    replaced: () => void,
  ): Promise<void> {
    const { clock } = this.#options;
    const begun = clock.monotonic();
    await clock.sleep(besideMs, over);
    while (!over.aborted) {
      const started = clock.monotonic();
      let fresh: Connection | undefined;
      using waiting = linkAbort(over, { afterMs: besideMs });
      const { signal } = waiting;
      try {
        fresh = this.#createConnection(credentials.tls);
        const sending = { connection: fresh, credentials, signal };
        const response = await this.#fetch(versionRequest, sending);
        await response.body?.cancel();
        if (!over.aborted && !connection.hasReceivedSince(begun)) {
          fresh.noteReceived();
          this.#retire(connection);
          if (this.#current) fresh.close();
          this.#current ??= fresh;
          return replaced();
        }
      } catch {
        // What is told is the first connection's own failure.
      }
      fresh?.close();
      await clock.sleep(besideMs - (clock.monotonic() - started), over);
    }
  }

  /** Cold requests that start together would each open a connection, and the runtime close all but one. */
  async #waitForConnection(signal: AbortSignal): Promise<{ done(): void }> {
    while (!this.#current?.opened && this.#opening && !signal.aborted) {
      using waiting = linkAbort(signal);
      await Promise.race([this.#opening, untilAborted(waiting.signal)]);
    }
    signal.throwIfAborted();
    if (this.#current?.opened) return { done: () => {} };
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#opening = promise;
    return {
      done: () => {
        this.#opening = undefined;
        resolve();
      },
    };
  }

  #connectionFor(tls: TlsMaterial): Connection {
    if (this.#current && sameTls(this.#current.tls, tls)) return this.#current;
    this.#current?.close();
    this.#current = undefined;
    this.#current = this.#createConnection(tls);
    return this.#current;
  }

  #createConnection(tls: TlsMaterial): Connection {
    const { access: { proxyUrl }, clock } = this.#options;
    if (tls.certificate !== "") requireMatchingKey(tls.certificate, tls.key);
    const client = Deno.createHttpClient({
      ...(tls.certificateAuthority === "" ? {} : { caCerts: [tls.certificateAuthority] }),
      ...(tls.certificate === "" ? {} : { cert: tls.certificate, key: tls.key }),
      ...(proxyUrl === "" ? {} : { proxy: { url: proxyUrl } }),
      poolIdleTimeout: false,
    });
    const ask = (connection: Connection) => this.#ask(connection);
    return new Connection({ host: this.host, client, tls, clock, ask });
  }

  /** The next request opens another one. */
  #retire(connection: Connection): void {
    connection.close();
    if (this.#current === connection) this.#current = undefined;
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
