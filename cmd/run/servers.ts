/** The HTTP servers of a running proxy. */
import type { Clock } from "../../lib/base/clock.ts";
import type { EventSink } from "../../lib/base/event_sink.ts";
import type { Klog } from "../../lib/base/klog.ts";
import type { MetricsRegistry } from "../../lib/base/metrics.ts";
import { kubernetesVersion, programVersion } from "../../lib/base/version.ts";
import type { ProxyConfiguration } from "../../lib/config/internal.ts";
import { toV1alpha1 } from "../../lib/config/write.ts";
import { healthzHandler } from "../../lib/health/healthz.ts";
import { type Handler, keepListening, type ListenAddress } from "../../lib/health/listener.ts";
import { metricsPages } from "../../lib/health/metrics_pages.ts";
import type { ProxyHealth } from "../../lib/health/proxy_health.ts";
import type { Lifetime } from "../../lib/node/lifetime.ts";
import type { Pace } from "../../lib/writers/writer.ts";
import type { RunOptions } from "../run_options.ts";

export interface ServersOptions {
  readonly options: RunOptions;
  readonly nodeName: string;
  readonly metrics: MetricsRegistry;
  readonly health: ProxyHealth;
  readonly events: EventSink;
  readonly lifetime: Lifetime;
  readonly clock: Clock;
  readonly logger: Klog;
  readonly startMs: number;
  readonly pace: Pace;
}

/** Starts them; they open their ports, again and again where that must not end the proxy. */
export function startServers(context: ServersOptions): void {
  const { configuration } = context.options;
  const healthz = parseListenAddress(configuration.healthzBindAddress);
  if (healthz) {
    startServer(context, {
      name: "healthz server",
      failure: "FailedToStartProxierHealthcheck",
      address: healthz,
      handler: healthzHandler(context.health, registerHealthMetrics(context.metrics)),
    });
  }
  const metrics = parseListenAddress(configuration.metricsBindAddress);
  if (metrics) {
    startServer(context, {
      name: "metrics server",
      failure: "FailedToStartMetricServer",
      address: metrics,
      handler: metricsHandler(context),
    });
  }
}

interface Server {
  readonly name: string;
  /** The reason of the event when it cannot be opened and that ends the proxy. */
  readonly failure: string;
  readonly address: ListenAddress;
  readonly handler: Handler;
}

function startServer(context: ServersOptions, { failure, ...server }: Server): void {
  const { clock, events, lifetime, logger, nodeName, options } = context;
  const hardFail = options.configuration.bindAddressHardFail;
  lifetime.start(async (signal) => {
    try {
      await keepListening({ ...server, clock, logger, signal, hardFail });
    } catch (error) {
      const about = { kind: "Node", namespace: "", name: nodeName } as const;
      const note = error instanceof Error ? error.message : String(error);
      events.emit({ about, type: "Warning", reason: failure, action: "StartKubeProxy", note });
      throw error;
    }
  });
}

function registerHealthMetrics(metrics: MetricsRegistry) {
  const counter = (page: string) =>
    metrics.counter({
      name: `kubeproxy_proxy_${page}_total`,
      help: `Cumulative proxy ${page} HTTP status`,
      labels: ["code"],
    });
  return { healthz: counter("healthz"), livez: counter("livez") };
}

function metricsHandler(context: ServersOptions): Handler {
  const { options, clock, logger, pace, startMs } = context;
  const { configuration, gates } = options;
  const flagz = gates.enabled("ComponentFlagz");
  const configz = toV1alpha1(configuration, { unsetMinSyncPeriod: "upstream" });
  return metricsPages({
    metrics: context.metrics,
    mode: configuration.mode,
    configz: () => configz,
    ...(flagz ? { flagz: () => Object.fromEntries(options.flags) } : {}),
    ...(gates.enabled("ComponentStatusz")
      ? {
        statusz: {
          startMs,
          now: () => clock.now(),
          runtimeVersion: `deno${Deno.version.deno}`,
          binaryVersion: kubernetesVersion.slice(1),
          emulationVersion: kubernetesVersion.slice(1).split(".").slice(0, 2).join("."),
          paths: ["/configz", ...(flagz ? ["/flagz"] : []), "/healthz", "/metrics", "/proxyMode"],
          details: () => ({
            "kube-proxy version": programVersion,
            "Effective syncPeriod": `${configuration.syncPeriodMs} ms`,
            "Effective minSyncPeriod": describeMinSyncPeriod(configuration, pace),
          }),
        },
      }
      : {}),
    ...(configuration.enableProfiling
      ? {
        debug: {
          setVerbosity: (level) => logger.setVerbosity(level),
          sleep: (milliseconds, signal) => clock.sleep(milliseconds, signal),
        },
      }
      : {}),
    processStartMs: startMs,
  });
}

/** The time between two syncs, as it is configured or as the mode wants it. */
function describeMinSyncPeriod({ minSyncPeriodMs }: ProxyConfiguration, pace: Pace): string {
  if (minSyncPeriodMs !== undefined) return `${minSyncPeriodMs} ms`;
  const first = pace.minSyncPeriodMs === 0 ? "at once" : `${pace.minSyncPeriodMs} ms`;
  return `${first}; changes behind another are gathered for at most ${pace.gathering.mostMs} ms`;
}

/** `0.0.0.0:10256`, `[::]:10256`; undefined for the empty address, which opens nothing. */
export function parseListenAddress(text: string): ListenAddress | undefined {
  if (text === "") return undefined;
  const colon = text.lastIndexOf(":");
  return {
    hostname: text.slice(0, colon).replace(/^\[|\]$/g, ""),
    port: Number(text.slice(colon + 1)),
  };
}
