/**
 * The health-check node ports of Services with external policy Local: a load balancer asks each node
 * how many local endpoints it has. One instance serves one family.
 */
import type { Ports } from "./ports.ts";

/** What a load balancer may ask about one Service. */
export interface HealthCheckService {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  /** Distinct addresses of ready local endpoints. */
  readonly localEndpoints: number;
}

export interface ServiceHealthOptions {
  /** Where to listen: everywhere, or on the node's own addresses that serve node ports. */
  readonly ports: Ports;
  readonly isProxyHealthy: () => boolean;
  /** Told each time a port cannot be opened; it is tried again with the next update. */
  readonly onListenFailure: (service: HealthCheckService, error: unknown) => void;
}

interface Running {
  service: HealthCheckService;
  port: AsyncDisposable | undefined;
}

/** Opens, answers and closes the ports. Calls must not overlap. */
export class ServiceHealthServers implements AsyncDisposable {
  readonly #options: ServiceHealthOptions;
  readonly #running = new Map<string, Running>();
  readonly #failed = new Map<string, HealthCheckService>();

  constructor(options: ServiceHealthOptions) {
    this.#options = options;
  }

  /** Opens, closes and moves ports: takes what changed, by `namespace/name`: undefined is a Service without such a port. */
  async update(changed: ReadonlyMap<string, HealthCheckService | undefined>): Promise<void> {
    for (const [key, service] of changed) {
      this.#failed.delete(key);
      const running = this.#running.get(key);
      if (running && running.service.port !== service?.port) await this.#close(key);
      if (running && service && running.service.port === service.port) running.service = service;
      else if (service) await this.#open(key, service);
    }
    for (const [key, service] of [...this.#failed]) {
      if (!changed.has(key)) await this.#open(key, service);
    }
    await this.#follow();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const key of [...this.#running.keys()]) await this.#close(key);
  }

  async #open(key: string, service: HealthCheckService): Promise<void> {
    const running: Running = { service, port: undefined };
    try {
      running.port = await this.#options.ports.open(service.port, () => this.#answer(running));
      this.#running.set(key, running);
      this.#failed.delete(key);
    } catch (error) {
      this.#failed.set(key, service);
      this.#options.onListenFailure(service, error);
    }
  }

  async #follow(): Promise<void> {
    const { onListenFailure, ports } = this.#options;
    const failures = await ports.follow();
    if (failures.size === 0) return;
    for (const { service } of this.#running.values()) {
      if (failures.has(service.port)) onListenFailure(service, failures.get(service.port));
    }
  }

  async #close(key: string): Promise<void> {
    const running = this.#running.get(key);
    this.#running.delete(key);
    await running?.port?.[Symbol.asyncDispose]();
  }

  #answer({ service }: Running): Response {
    const serviceProxyHealthy = this.#options.isProxyHealthy();
    const { namespace, name, localEndpoints } = service;
    const body = { service: { namespace, name }, localEndpoints, serviceProxyHealthy };
    return new Response(JSON.stringify(body, null, "\t"), {
      status: serviceProxyHealthy && localEndpoints > 0 ? 200 : 503,
      headers: {
        "content-type": "application/json",
        "x-content-type-options": "nosniff",
        "x-load-balancing-endpoint-weight": String(localEndpoints),
      },
    });
  }
}
