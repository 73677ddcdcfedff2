/**
 * What the proxy knows of its own health, per family. Three states are kept apart: it is *alive*
 * unless a queued change has waited too long, it is *in sync* once everything it was told of first
 * is in the kernel, and its node is *eligible* for load balancer traffic or not.
 */
import type { Clock } from "../base/clock.ts";
import { ipFamilies, type IpFamily } from "../base/ip_family.ts";

export interface ProxyHealthOptions {
  readonly clock: Clock;
  /** A queued change older than this makes its family unhealthy. */
  readonly timeoutMs: number;
  /** The families that this proxy programs. */
  readonly families: readonly IpFamily[];
  /** Whether a load balancer may send traffic to this node. */
  readonly nodeEligible: () => boolean;
}

/** One answer, with times in milliseconds since the epoch; 0 is never. */
export interface HealthReport {
  readonly alive: boolean;
  readonly inSync: boolean;
  readonly nodeEligible: boolean;
  readonly currentMs: number;
  readonly lastUpdatedMs: number;
  /** Only families whose loop has started. */
  readonly families: ReadonlyMap<
    IpFamily,
    { readonly lastUpdatedMs: number; readonly healthy: boolean }
  >;
}

/** Told by the sync loops what happens, asked by the HTTP handlers how things are. */
export class ProxyHealth {
  readonly #options: ProxyHealthOptions;
  readonly #lastUpdatedMs = new Map<IpFamily, number>();
  readonly #queuedSince = new Map<IpFamily, number>();
  readonly #synced = new Set<IpFamily>();

  constructor(options: ProxyHealthOptions) {
    this.#options = options;
  }

  /** A family's loop runs; nothing is in the kernel yet. */
  started(family: IpFamily): void {
    this.#lastUpdatedMs.set(family, this.#options.clock.now());
  }

  /** A change waits; only the oldest one that was not yet answered by `updated` counts. */
  queued(family: IpFamily): void {
    if (!this.#queuedSince.has(family)) {
      this.#queuedSince.set(family, this.#options.clock.monotonic());
    }
  }

  /** Everything known of the family is in the kernel. */
  updated(family: IpFamily): void {
    this.#queuedSince.delete(family);
    this.#synced.add(family);
    this.#lastUpdatedMs.set(family, this.#options.clock.now());
  }

  /** All families are alive; what health-check node ports of Services ask. */
  isAlive(): boolean {
    return this.#options.families.every((family) => this.#isHealthy(family));
  }

  report(): HealthReport {
    const families = new Map<IpFamily, { lastUpdatedMs: number; healthy: boolean }>();
    for (const family of ipFamilies) {
      const lastUpdatedMs = this.#lastUpdatedMs.get(family);
      if (lastUpdatedMs !== undefined) {
        families.set(family, { lastUpdatedMs, healthy: this.#isHealthy(family) });
      }
    }
    return {
      alive: this.isAlive(),
      inSync: this.#options.families.every((family) => this.#synced.has(family)),
      nodeEligible: this.#options.nodeEligible(),
      currentMs: this.#options.clock.now(),
      lastUpdatedMs: Math.max(0, ...this.#lastUpdatedMs.values()),
      families,
    };
  }

  #isHealthy(family: IpFamily): boolean {
    const since = this.#queuedSince.get(family);
    return since === undefined || this.#options.clock.monotonic() - since < this.#options.timeoutMs;
  }
}
