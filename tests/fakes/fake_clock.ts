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

  after(milliseconds: number, callback: () => void): () => void {
    const forget = () => this.#sleepers = this.#sleepers.filter((sleeper) => sleeper !== own);
    const wake = () => {
      forget();
      callback();
    };
    const own: Sleeper = { wakeAt: this.#elapsed + milliseconds, wake };
    this.#sleepers.push(own);
    return forget;
  }

  /** Lets everything that can run now run, then moves on, waking sleepers in the order of their times. */
  async advance(milliseconds: number): Promise<void> {
    const end = this.#elapsed + milliseconds;
    await settle();
    for (;;) {
      const next = this.#nextSleeper();
      if (!next || next.wakeAt > end) break;
      this.#elapsed = Math.max(this.#elapsed, next.wakeAt);
      next.wake();
      await settleQuickly();
    }
    this.#elapsed = Math.max(this.#elapsed, end);
    await settle();
  }

  /** Time goes by while somebody works without waiting; sleepers wake with the next `advance`. */
  pass(milliseconds: number): void {
    this.#elapsed += milliseconds;
  }

  #nextSleeper(): Sleeper | undefined {
    return this.#sleepers.reduce<Sleeper | undefined>(
      (first, each) => first && first.wakeAt <= each.wakeAt ? first : each,
      undefined,
    );
  }
}

/** Between sleepers: the same without timers, each of which takes a millisecond and more. */
async function settleQuickly(): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  for (let turn = 0; turn < 3; turn++) {
    const turned = new Promise<void>((resolve) => port1.onmessage = () => resolve());
    port2.postMessage(undefined);
    await turned;
  }
  port1.close();
  port2.close();
}

/** Resolves when all promises that can go on by themselves have gone on. */
export async function settle(): Promise<void> {
  await settleQuickly();
  await new Promise<void>((resolve) => setTimeout(resolve, 0));
  await settleQuickly();
}
