/**
 * Reads an answer's body, and finds out when the server is gone. The runtime's sockets have no keepalive:
 * when a peer vanishes without a word, only our own asking finds out.
 */
import type { Clock } from "../base/clock.ts";
import { describeError } from "../base/errors.ts";
import type { Answer, Connection } from "./connection.ts";
import { ConnectionError } from "./status.ts";

export interface BodyOptions {
  readonly clock: Clock;
  /** Ends the reading. The request's own signal does not reach a body once garbage was collected. */
  readonly signal: AbortSignal;
  /** Nothing of this body for so long ends it, however alive the connection is. */
  readonly silenceMs: number;
  /** Nothing at all from the server for so long: ask it whether the connection is alive. */
  readonly connectionSilenceMs: number;
}

/** The chunks as they come. Ends with the body; throws a ConnectionError where it broke or fell silent. */
export async function* streamBody(
  { response, connection }: Answer,
  options: BodyOptions,
): AsyncGenerator<Uint8Array> {
  if (!response.body) return;
  const { clock, signal } = options;
  const reader = response.body.getReader();
  const watchdog = new Watchdog(reader, connection, options);
  const cancel = () => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", cancel, { once: true });
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (watchdog.failure) throw watchdog.failure;
      signal.throwIfAborted();
      if (done) return;
      watchdog.lastChunkMs = clock.monotonic();
      connection.noteReceived();
      yield value;
    }
  } catch (error) {
    if (error instanceof ConnectionError || isAbort(error)) throw error;
    const cause = describeError(error);
    throw new ConnectionError(`Cannot read from apiserver "${connection.host}": ${cause}`, {
      cause: error,
    });
  } finally {
    watchdog.stop();
    signal.removeEventListener("abort", cancel);
    // Ends the request too where the reader stopped early; a body that failed has said so already.
    await reader.cancel().catch(() => {});
  }
}

/** The whole body. */
export async function readBody(answer: Answer, options: BodyOptions): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of streamBody(answer, options)) {
    chunks.push(chunk);
    length += chunk.length;
  }
  const body = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    body.set(chunk, offset);
    offset += chunk.length;
  }
  return body;
}

/** Looks at the clock when silence could have lasted too long, and not at each of thousands of chunks. */
class Watchdog {
  failure: ConnectionError | undefined;
  lastChunkMs: number;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #connection: Connection;
  readonly #options: BodyOptions;
  readonly #dead = () => this.#fail("it does not answer any more");
  readonly #stop = new AbortController();

  constructor(
    reader: ReadableStreamDefaultReader<Uint8Array>,
    connection: Connection,
    options: BodyOptions,
  ) {
    this.#reader = reader;
    this.#connection = connection;
    this.#options = options;
    this.lastChunkMs = options.clock.monotonic();
    if (connection.dead.aborted) this.#dead();
    else connection.dead.addEventListener("abort", this.#dead, { once: true });
    this.#watch();
  }

  stop(): void {
    this.#stop.abort();
    this.#connection.dead.removeEventListener("abort", this.#dead);
  }

  async #watch(): Promise<void> {
    const { clock, silenceMs, connectionSilenceMs } = this.#options;
    for (;;) {
      const { silentMs, connectionSilentMs } = this.#silence();
      const leftMs = Math.min(silenceMs - silentMs, connectionSilenceMs - connectionSilentMs);
      // A connection that could not be asked stays silent; it is not asked again at once.
      const waitMs = leftMs > 0 ? leftMs : Math.min(silenceMs, connectionSilenceMs) / 4;
      await clock.sleep(waitMs, this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      await this.#look();
    }
  }

  async #look(): Promise<void> {
    const { silenceMs, connectionSilenceMs } = this.#options;
    const { silentMs, connectionSilentMs } = this.#silence();
    if (silentMs >= silenceMs) this.#fail(`it has been silent for ${seconds(silentMs)} s`);
    // Whoever reads from a connection that turns out to be dead learns it from the connection.
    else if (connectionSilentMs >= connectionSilenceMs) await this.#connection.isAlive();
  }

  #silence(): { readonly silentMs: number; readonly connectionSilentMs: number } {
    const silentMs = this.#options.clock.monotonic() - this.lastChunkMs;
    return { silentMs, connectionSilentMs: Math.min(silentMs, this.#connection.silentMs) };
  }

  #fail(cause: string): void {
    if (this.failure) return;
    const { host } = this.#connection;
    this.failure = new ConnectionError(`Cannot read from apiserver "${host}": ${cause}`);
    // Wakes the pending read, which finds the failure.
    this.#reader.cancel().catch(() => {});
  }
}

function seconds(milliseconds: number): string {
  return (milliseconds / 1000).toFixed(0);
}

function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
