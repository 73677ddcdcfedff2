/**
 * Reads an answer's body, and does not believe in silence. The runtime's sockets have no keepalive:
 * when a peer vanishes without a word, only our own asking finds out.
 */
import type { Clock } from "../base/clock.ts";
import { describeError } from "../base/errors.ts";
import { ConnectionError } from "./status.ts";
import type { Transport } from "./transport.ts";

export interface BodyOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  /** Ends the reading. The request's own signal does not reach a body once garbage was collected. */
  readonly signal: AbortSignal;
  /** Nothing of this body for so long ends it, however alive the connection is. */
  readonly silenceMs: number;
  /** Nothing at all from the server for so long: ask it whether the connection is alive. */
  readonly connectionSilenceMs: number;
}

const longestTickMs = 5_000;

/** The chunks as they come. Ends with the body; throws a ConnectionError where it broke or fell silent. */
export async function* streamBody(
  response: Response,
  options: BodyOptions,
): AsyncGenerator<Uint8Array> {
  if (!response.body) return;
  const { transport, clock, signal } = options;
  const reader = response.body.getReader();
  const watchdog = new Watchdog(reader, options);
  const cancel = () => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", cancel, { once: true });
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (watchdog.failure) throw watchdog.failure;
      signal.throwIfAborted();
      if (done) return;
      watchdog.lastChunkMs = clock.monotonic();
      transport.noteReceived();
      yield value;
    }
  } catch (error) {
    if (error instanceof ConnectionError || isAbort(error)) throw error;
    const cause = describeError(error);
    throw new ConnectionError(`Cannot read from apiserver "${transport.host}": ${cause}`, {
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
export async function readBody(response: Response, options: BodyOptions): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of streamBody(response, options)) {
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

/** Looks at the clock now and then, instead of arming a timer for each of thousands of chunks. */
class Watchdog {
  failure: ConnectionError | undefined;
  lastChunkMs: number;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #options: BodyOptions;
  readonly #timer: number;
  #asking = false;

  constructor(reader: ReadableStreamDefaultReader<Uint8Array>, options: BodyOptions) {
    this.#reader = reader;
    this.#options = options;
    this.lastChunkMs = options.clock.monotonic();
    const shortest = Math.min(options.silenceMs, options.connectionSilenceMs);
    this.#timer = setInterval(() => this.#look(), Math.min(shortest / 4, longestTickMs));
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    const { transport, clock, silenceMs, connectionSilenceMs } = this.#options;
    const silentMs = clock.monotonic() - this.lastChunkMs;
    if (silentMs >= silenceMs) return this.#fail(`it has been silent for ${seconds(silentMs)} s`);
    if (this.#asking || Math.min(silentMs, transport.silentMs) < connectionSilenceMs) return;
    this.#asking = true;
    const alive = await transport.isAlive();
    this.#asking = false;
    if (!alive) this.#fail("it does not answer any more");
  }

  #fail(cause: string): void {
    if (this.failure) return;
    const { host } = this.#options.transport;
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
