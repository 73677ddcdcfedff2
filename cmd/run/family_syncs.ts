/** A sync for each family that is programmed, with its writer and all that listens to it. */
import type { Logger } from "../../lib/base/log.ts";
import { SharedPorts } from "../../lib/health/ports.ts";
import { FamilySync } from "../../lib/sync/family_sync.ts";
import { SharedRest } from "../../lib/sync/shared_rest.ts";
import { PromSyncMetrics } from "../../lib/sync/sync_metrics.ts";
import type { Notice, Pace } from "../../lib/writers/writer.ts";
import { healthCheckPorts } from "./health_check_ports.ts";
import type { Proxy } from "./proxy.ts";
import { healthWithAnnouncement, type SyncAudience } from "./proxy_health.ts";

/** Makes the writers and opens what they need of the kernel; throws where it refuses. */
export async function familySyncs(
  proxy: Proxy,
  audience: SyncAudience,
): Promise<readonly FamilySync[]> {
  const {
    clock,
    context,
    completeness,
    families,
    kernel,
    lifetime,
    metrics,
    options,
    runtime,
    state,
  } = proxy;
  const { minSyncPeriodMs, syncPeriodMs } = options.configuration;
  const pace = await paceOf(proxy);
  runtime.registerMetrics(metrics);
  const syncMetrics = syncMetricsOf(proxy, pace);
  const everywhere = new SharedPorts();
  const rest = pace.rest && new SharedRest(pace.rest);
  const syncs: FamilySync[] = [];
  for (const family of families) {
    const source = state.families.get(family);
    if (!source) continue;
    const writer = await runtime.createWriter({ family, kernel, logger: context.logger });
    const healthChecks = healthCheckPorts(proxy, family, { health: audience.health, everywhere });
    lifetime.own(healthChecks);
    syncs.push(
      new FamilySync({
        source,
        writer,
        conntrack: kernel.conntrack,
        isComplete: () => completeness.isComplete,
        intervals: {
          ...(minSyncPeriodMs === undefined
            ? {
              minMs: pace.minSyncPeriodMs,
              gathering: pace.gathering,
              ...(rest ? { rest } : {}),
            }
            : { minMs: minSyncPeriodMs }),
          retryMs: syncPeriodMs,
          maxMs: pace.fullSyncMs,
        },
        fullSyncMs: pace.fullSyncMs,
        driftCheckMs: pace.driftCheckMs,
        ...(pace.maintainMs === undefined ? {} : { maintainMs: pace.maintainMs }),
        health: healthWithAnnouncement(proxy, audience),
        healthChecks,
        metrics: syncMetrics,
        notices: { notice: (_family, notice) => say(notice, context.logger) },
        logger: context.logger,
        clock,
      }),
    );
  }
  return syncs;
}

/** How often the mode wants to be asked for what. */
export function paceOf({ kernel, options, runtime }: Proxy): Promise<Pace> {
  const { syncPeriodMs } = options.configuration;
  return runtime.pace({ kernel, syncPeriodMs });
}

function syncMetricsOf(
  { families, metrics, state }: Proxy,
  { partialSyncs }: Pace,
): PromSyncMetrics {
  return new PromSyncMetrics({
    registry: metrics,
    events: () => families.flatMap((family) => state.families.get(family)?.events ?? []),
    partialSyncs,
  });
}

function say({ message, service }: Notice, logger: Logger): void {
  logger.warning(message, service === undefined ? {} : { servicePort: service });
}
