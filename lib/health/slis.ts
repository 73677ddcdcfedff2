/** The health checks of the metrics server as metrics, under the names that the Kubernetes SLI page has. */
import { type Counter, type Gauge, MetricsRegistry } from "../base/metrics.ts";

export class HealthSlis {
  readonly #registry = new MetricsRegistry();
  readonly #healthcheck: Gauge;
  readonly #healthchecks: Counter;

  constructor({ processStartMs }: { readonly processStartMs: number }) {
    this.#healthcheck = this.#registry.gauge({
      name: "kubernetes_healthcheck",
      help: "This metric records the result of a single healthcheck.",
      labels: ["name", "type"],
      stability: "STABLE",
    });
    this.#healthchecks = this.#registry.counter({
      name: "kubernetes_healthchecks_total",
      help: "This metric records the results of all healthcheck.",
      labels: ["name", "type", "status"],
      stability: "STABLE",
    });
    this.#registry.scraped({
      name: "process_start_time_seconds",
      help: "Start time of the process since unix epoch in seconds.",
      type: "gauge",
      read: () => [{ value: processStartMs / 1000 }],
    });
  }

  /** A check was made and succeeded; `type` is the page it belongs to. */
  succeeded(name: string, type: string): void {
    this.#healthcheck.set(1, { name, type });
    this.#healthchecks.add(1, { name, type, status: "success" });
  }

  /** Forgets all checks. */
  reset(): void {
    this.#registry.reset();
  }

  expose(): Promise<string> {
    return this.#registry.expose();
  }
}
