/** Puts a client together from what flags, configuration and environment say. */
import type { Clock } from "../base/clock.ts";
import { KubeClient } from "./client.ts";
import { type ClientMetrics, noClientMetrics } from "./client_metrics.ts";
import { Credentials } from "./credentials/credentials.ts";
import type { PluginCommands } from "./credentials/exec_plugin.ts";
import { type AccessOptions, findAccess } from "./credentials/find_access.ts";
import { RateLimiter } from "./rate_limiter.ts";
import { Transport } from "./transport.ts";

export interface ConnectOptions extends AccessOptions {
  /** Such as `kube-proxy/v1.37.0 (linux/amd64) kubernetes/0123abc`. */
  readonly userAgent: string;
  /** `clientConnection.qps` and `burst`: hold for everything but watches. */
  readonly qps: number;
  readonly burst: number;
  readonly contentType?: string;
  readonly acceptContentTypes?: string;
  readonly metrics?: ClientMetrics;
  /** Runs the credential plugin of a kubeconfig that has one. */
  readonly commands: PluginCommands;
  readonly clock: Clock;
}

/** A client that has not asked anything yet; throws where it is clear that it could not. */
export async function connect(options: ConnectOptions): Promise<KubeClient> {
  const { clock, commands, qps, burst, userAgent, contentType, acceptContentTypes } = options;
  const access = await findAccess(options);
  const credentials = new Credentials(access, { clock, commands });
  return new KubeClient({
    transport: new Transport({ access, credentials, userAgent, clock }),
    limiter: new RateLimiter({ qps, burst, clock }),
    metrics: options.metrics ?? noClientMetrics,
    clock,
    ...(contentType === undefined ? {} : { contentType }),
    ...(acceptContentTypes === undefined ? {} : { acceptContentTypes }),
  });
}
