/** New connections at a steady rate, counted by what became of them. */
import type { Load, LoadReport, Outcome } from "./agent_protocol.ts";
import { attempt } from "./attempts.ts";
import type { Networks } from "./networks.ts";

/** One running load. */
export class RunningLoad {
  readonly #networks: Networks;
  readonly #request: Load;
  readonly #startMs = performance.now();
  readonly #elapsedMs: number[] = [];
  readonly #reached = new Map<string, number>();
  readonly #failed = new Map<string, number>();
  #started = 0;
  #open = 0;
  #onIdle: (() => void) | undefined;
  #stopping = false;

  constructor(networks: Networks, request: Load) {
    this.#networks = networks;
    this.#request = request;
    this.#tick();
  }

  /** Starts no more connections and calls back when the last one has its outcome. */
  stop(done: (report: LoadReport) => void): void {
    this.#stopping = true;
    this.#onIdle = () => done(this.#report());
    if (this.#open === 0) this.#onIdle();
  }

  /** A late tick starts all connections that are due, so that the rate holds on a busy machine. */
  #tick(): void {
    if (this.#stopping) return;
    const due = (performance.now() - this.#startMs) / 1000 * this.#request.perSecond;
    while (this.#started < due) this.#connect();
    this.#networks.reactor.after(1000 / this.#request.perSecond, () => this.#tick());
  }

  #connect(): void {
    this.#started++;
    this.#open++;
    attempt(this.#networks, this.#request, (outcome, elapsedMs) => {
      this.#count(outcome, elapsedMs);
      this.#open--;
      if (this.#open === 0) this.#onIdle?.();
    });
  }

  #count(outcome: Outcome, elapsedMs: number): void {
    if (outcome.kind === "reached") {
      this.#elapsedMs.push(elapsedMs);
      this.#reached.set(outcome.endpoint, (this.#reached.get(outcome.endpoint) ?? 0) + 1);
      return;
    }
    const reason = outcome.kind === "rejected" ? outcome.reason : "no answer";
    this.#failed.set(reason, (this.#failed.get(reason) ?? 0) + 1);
  }

  #report(): LoadReport {
    const sorted = this.#elapsedMs.toSorted((a, b) => a - b);
    const quantile = (q: number) => sorted[Math.min(sorted.length - 1, sorted.length * q | 0)] ?? 0;
    return {
      attempts: this.#started,
      reached: Object.fromEntries([...this.#reached].toSorted()),
      failed: Object.fromEntries([...this.#failed].toSorted()),
      p50Ms: quantile(0.5),
      p99Ms: quantile(0.99),
      slowestMs: quantile(1),
    };
  }
}
