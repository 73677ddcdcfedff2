/** Facts that are read when somebody asks, once, and never for longer than they may take. */
import { linkAbort } from "../base/abort.ts";
import type { Clock } from "../base/clock.ts";
import { describeError } from "../base/errors.ts";
import type { Fact, FactName, FactReader, FactReaders, Facts } from "./fact.ts";
import type { FactValues } from "./facts/fact_values.ts";

/** What reading needs. */
export interface LazyFactsOptions {
  readonly clock: Clock;
  /** Ends every reading. */
  readonly signal: AbortSignal;
}

const usualTimeoutMs = 10_000;

/** See `Facts`. What throws, hangs or is stopped is unknown, with the reason. */
export class LazyFacts implements Facts {
  readonly #readers: FactReaders;
  readonly #options: LazyFactsOptions;
  readonly #begun: { [N in FactName]?: Promise<Fact<FactValues[N]>> } = {};

  constructor(readers: FactReaders, options: LazyFactsOptions) {
    this.#readers = readers;
    this.#options = options;
  }

  read<N extends FactName>(name: N): Promise<Fact<FactValues[N]>> {
    const begun: { [K in N]?: Promise<Fact<FactValues[K]>> } = this.#begun;
    return begun[name] ??= this.#inTime(this.#readers[name]);
  }

  async #inTime<T>({ read, timeoutMs = usualTimeoutMs }: FactReader<T>): Promise<Fact<T>> {
    const { clock, signal: outer } = this.#options;
    using abort = linkAbort(outer);
    const { signal } = abort;
    const reading = Promise.resolve().then(() => read({ signal, facts: this }))
      .catch((error): Fact<T> => ({ kind: "unknown", because: describeError(error) }));
    const tooLate = clock.sleep(timeoutMs, signal).then((): Fact<T> => ({
      kind: "unknown",
      because: outer.aborted ? "stopped before it was read" : `no answer in ${timeoutMs / 1_000} s`,
    }));
    try {
      return await Promise.race([reading, tooLate]);
    } finally {
      abort.abort();
    }
  }
}
