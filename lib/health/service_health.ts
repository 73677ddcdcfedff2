/**
 * The health-check node ports of Services with external policy Local: a load balancer asks each node
 * how many local endpoints it has. One instance serves one family.
 */
import { listen, type Listener } from "./listener.ts";

/** What a load balancer may ask about one Service. */
export interface HealthCheckService {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  /** Distinct addresses of ready local endpoints. */
  readonly localEndpoints: number;
}

export interface ServiceHealthOptions {
  /** Where to listen: an unspecified address, or the node's own ones that serve node ports. */
  readonly addresses: readonly string[];
  readonly isProxyHealthy: () => boolean;
  /** Told each time a port cannot be opened; it is tried again with the next update. */
  readonly onListenFailure: (service: HealthCheckService, error: unknown) => void;
}

interface Running {
  service: HealthCheckService;
  readonly listeners: Listener[];
}

/** Opens, answers and closes the ports. Calls must not overlap. */
export class ServiceHealthServers implements AsyncDisposable {
  readonly #options: ServiceHealthOptions;
  readonly #running = new Map<string, Running>();
  readonly #failed = new Map<string, HealthCheckService>();

  constructor(options: ServiceHealthOptions) {
    this.#options = options;
  }

  /** Takes what changed, by `namespace/name`: undefined is a Service without such a port. */
  async update(changed: ReadonlyMap<string, HealthCheckService | undefined>): Promise<void> {
    for (const [key, service] of changed) {
      this.#failed.delete(key);
      const running = this.#running.get(key);
      if (running && running.service.port !== service?.port) await this.#close(key);
      if (running && service && running.service.port === service.port) running.service = service;
      else if (service) this.#open(key, service);
    }
    for (const [key, service] of this.#failed) if (!changed.has(key)) this.#open(key, service);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const key of [...this.#running.keys()]) await this.#close(key);
  }

  #open(key: string, service: HealthCheckService): void {
    const running: Running = { service, listeners: [] };
    try {
      for (const hostname of this.#options.addresses) {
        running.listeners.push(
          listen({ hostname, port: service.port }, () => this.#answer(running)),
        );
      }
      this.#running.set(key, running);
      this.#failed.delete(key);
    } catch (error) {
      // All addresses or none: half of the ports open would lie to half of the load balancers.
      for (const listener of running.listeners) void listener[Symbol.asyncDispose]();
      this.#failed.set(key, service);
      this.#options.onListenFailure(service, error);
    }
  }

  async #close(key: string): Promise<void> {
    const running = this.#running.get(key);
    this.#running.delete(key);
    for (const listener of running?.listeners ?? []) await listener[Symbol.asyncDispose]();
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
