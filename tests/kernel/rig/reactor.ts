/**
 * A loop around `poll` for sockets that Deno does not know. It is one thread without promises, so a
 * probe's time is measured by the kernel's answer and not by the order of an event queue.
 */
import { errnos, type Libc } from "./libc.ts";

/** Called with the events that came. */
export type ReadyHandler = (events: number) => void;

interface Watch {
  readonly events: number;
  readonly onReady: ReadyHandler;
}

interface Timer {
  readonly dueMs: number;
  readonly onDue: () => void;
}

/** Watches descriptors and deadlines until it is stopped. */
export class Reactor {
  readonly #libc: Libc;
  readonly #watches = new Map<number, Watch>();
  readonly #timers = new Map<number, Timer>();
  #nextTimer = 1;
  #running = false;

  constructor(libc: Libc) {
    this.#libc = libc;
  }

  /** Replaces what was watched on the descriptor. */
  watch(fd: number, events: number, onReady: ReadyHandler): void {
    this.#watches.set(fd, { events, onReady });
  }

  /** Forgets the descriptor and closes it. */
  close(fd: number): void {
    this.#watches.delete(fd);
    this.#libc.close(fd);
  }

  /** Calls back once after the time; the answer cancels that. */
  after(milliseconds: number, onDue: () => void): () => void {
    const timer = this.#nextTimer++;
    this.#timers.set(timer, { dueMs: performance.now() + milliseconds, onDue });
    return () => this.#timers.delete(timer);
  }

  stop(): void {
    this.#running = false;
  }

  /** Returns when `stop` was called. */
  run(): void {
    this.#running = true;
    while (this.#running) {
      this.#pollOnce();
      this.#runDueTimers();
    }
  }

  #pollOnce(): void {
    const watches = [...this.#watches];
    const entries = new Uint8Array(watches.length * 8);
    const view = new DataView(entries.buffer);
    watches.forEach(([fd, watch], i) => {
      view.setInt32(i * 8, fd, true);
      view.setInt16(i * 8 + 4, watch.events, true);
    });
    const ready = this.#libc.poll(entries, this.#timeToNextTimerMs());
    if (ready === -errnos.EINTR) return;
    if (ready < 0) throw new Error(`Cannot poll ${watches.length} descriptors: errno ${-ready}`);
    watches.forEach(([fd, watch], i) => {
      const events = view.getUint16(i * 8 + 6, true);
      // An earlier handler of this round may have closed or taken over the descriptor.
      if (events !== 0 && this.#watches.get(fd) === watch) watch.onReady(events);
    });
  }

  #timeToNextTimerMs(): number {
    let due = Infinity;
    for (const timer of this.#timers.values()) due = Math.min(due, timer.dueMs);
    return due === Infinity ? 1000 : Math.max(0, Math.ceil(due - performance.now()));
  }

  #runDueTimers(): void {
    const now = performance.now();
    for (const [id, timer] of [...this.#timers]) {
      if (timer.dueMs > now || !this.#timers.delete(id)) continue;
      timer.onDue();
    }
  }
}
