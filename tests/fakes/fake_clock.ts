import type { Clock } from "../../lib/base/clock.ts";

interface Sleeper {
  readonly wakeAt: number;
  readonly wake: () => void;
}

/** Time that moves only when the test says so. */
export class FakeClock implements Clock {
  #elapsed = 0;
  readonly #startMs: number;
  #sleepers: Sleeper[] = [];

  constructor(startMs = 1_700_000_000_000) {
    this.#startMs = startMs;
  }

  /** How many sleeps have not ended. */
  get sleepers(): number {
    return this.#sleepers.length;
  }

  now(): number {
    return this.#startMs + this.#elapsed;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted || milliseconds <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        this.#sleepers = this.#sleepers.filter((sleeper) => sleeper !== own);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      const own: Sleeper = { wakeAt: this.#elapsed + milliseconds, wake };
      this.#sleepers.push(own);
      signal?.addEventListener("abort", wake);
    });
  }

  /** Lets everything that can run now run, then moves on, waking sleepers in the order of their times. */
  async advance(milliseconds: number): Promise<void> {
    const end = this.#elapsed + milliseconds;
    await settle();
    for (;;) {
      const next = this.#nextSleeper();
      if (!next || next.wakeAt > end) break;
      this.#elapsed = next.wakeAt;
      next.wake();
      await settle();
    }
    this.#elapsed = end;
    await settle();
  }

  #nextSleeper(): Sleeper | undefined {
    return this.#sleepers.reduce<Sleeper | undefined>(
      (first, each) => first && first.wakeAt <= each.wakeAt ? first : each,
      undefined,
    );
  }
}

/** Resolves when all promises that can go on by themselves have gone on. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) {
    await new Promise<void>((resolve) => setTimeout(resolve, 0));
  }
}
