/**
 * One connection to an apiserver, as far as the runtime shows it: a client of its own, over which
 * HTTP/2 sends everything. It can be dead without any sign of it.
 */
import type { Clock } from "../base/clock.ts";
import type { TlsMaterial } from "./credentials/credentials.ts";

export interface ConnectionOptions {
  /** `host:port` of the server, for messages. */
  readonly host: string;
  readonly client: Deno.HttpClient;
  /** What it was made with. */
  readonly tls: TlsMaterial;
  readonly clock: Clock;
  /** Asks the server something over it, and judges. */
  readonly ask: (connection: Connection) => Promise<boolean>;
}

/** An answer's head, and where the rest of it comes from. */
export interface Answer {
  readonly response: Response;
  readonly connection: Connection;
}

export class Connection {
  readonly host: string;
  readonly client: Deno.HttpClient;
  readonly tls: TlsMaterial;
  readonly #clock: Clock;
  readonly #ask: ConnectionOptions["ask"];
  readonly #dead = new AbortController();
  #opened = false;
  #closed = false;
  #lastReceivedMs: number;
  #question: Promise<boolean> | undefined;

  constructor({ host, client, tls, clock, ask }: ConnectionOptions) {
    this.host = host;
    this.client = client;
    this.tls = tls;
    this.#clock = clock;
    this.#ask = ask;
    this.#lastReceivedMs = clock.monotonic();
  }

  /** Whether anything ever came over it. */
  get opened(): boolean {
    return this.#opened;
  }

  /** Aborts when it is given up: whoever reads from it need not wait any longer. */
  get dead(): AbortSignal {
    return this.#dead.signal;
  }

  /** Milliseconds since anything was received. */
  get silentMs(): number {
    return this.#clock.monotonic() - this.#lastReceivedMs;
  }

  /** The time is a monotonic one. */
  hasReceivedSince(timeMs: number): boolean {
    return this.#lastReceivedMs > timeMs;
  }

  /** Bytes prove that it is alive: whoever reads an answer says so. */
  noteReceived(): void {
    this.#opened = true;
    this.#lastReceivedMs = this.#clock.monotonic();
  }

  /**
   * Whether the server still answers; callers at the same time share one question. One that was
   * closed for another reason cannot be asked, and counts as alive until its answers end.
   */
  isAlive(): Promise<boolean> {
    if (this.#closed) return Promise.resolve(!this.#dead.signal.aborted);
    this.#question ??= this.#ask(this).finally(() => this.#question = undefined);
    return this.#question;
  }

  /** Takes no more requests; those that run end by themselves. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.client.close();
  }

  /** It is dead. */
  giveUp(): void {
    this.close();
    this.#dead.abort();
  }
}
