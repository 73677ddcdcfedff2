/** How long a proxy lives: until a signal, a failure of one of its tasks, or a reason to restart. */

/** Tasks that live and end together. */
export class Lifetime {
  readonly #controller = new AbortController();
  readonly #tasks: Promise<void>[] = [];
  readonly #resources: (Disposable | AsyncDisposable)[] = [];
  #failure: { readonly error: unknown } | undefined;

  /** Ends when `outside` aborts. */
  constructor(outside: AbortSignal) {
    if (outside.aborted) this.end();
    else outside.addEventListener("abort", () => this.end(), { once: true });
  }

  /** Aborts when everything is to end. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /**
   * Runs a task until the end; after the end it is not begun. One that throws ends all the others;
   * what it throws is `finished`'s.
   */
  start(task: (signal: AbortSignal) => Promise<void>): void {
    if (this.signal.aborted) return;
    this.#tasks.push(task(this.signal).catch((error) => this.fail(error)));
  }

  /** Closes a resource once every task has ended: the last one that was given first. */
  own(resource: Disposable | AsyncDisposable): void {
    this.#resources.push(resource);
  }

  /** Ends everything because of an error; only the first one counts. */
  fail(error: unknown): void {
    // What tasks throw while they end is the noise of ending.
    if (!this.signal.aborted) this.#failure = { error };
    this.end();
  }

  /** Ends everything; nothing went wrong. */
  end(): void {
    this.#controller.abort();
  }

  /** Resolves when every task has ended and all is closed; throws what made them end, if anything did. */
  async finished(): Promise<void> {
    for (const task of this.#tasks) await task;
    for (let last = this.#resources.pop(); last; last = this.#resources.pop()) {
      if (Symbol.asyncDispose in last) await last[Symbol.asyncDispose]();
      else last[Symbol.dispose]();
    }
    if (this.#failure) throw this.#failure.error;
  }
}
