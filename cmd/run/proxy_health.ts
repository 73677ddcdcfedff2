/** What `/healthz` and `/livez` are told, and the log with the first sync of all. */
import type { IpFamily } from "../../lib/base/ip_family.ts";
import { ProxyHealth } from "../../lib/health/proxy_health.ts";
import type { HealthSink } from "../../lib/sync/ports.ts";
import { announceSynced } from "./announce.ts";
import type { Proxy } from "./proxy.ts";

/** The taint of a node that the cluster autoscaler is about to remove. */
const leavingTaint = "ToBeDeletedByClusterAutoscaler";

/** The health of a proxy: how recently each family was synced, and whether the node takes traffic. */
export function proxyHealth({ clock, families, hasNode, options, state }: Proxy): ProxyHealth {
  return new ProxyHealth({
    clock,
    families,
    timeoutMs: 2 * options.configuration.syncPeriodMs,
    nodeEligible: () => {
      const { node } = state;
      if (!node) return !hasNode;
      return !node.deleting && !node.taintKeys.includes(leavingTaint);
    },
  });
}

/** What is told of a proxy's syncs. */
export interface SyncAudience {
  readonly health: ProxyHealth;
  /**
   * Once a family's rules are in force for the first time: what has to end before packets meet them. The
   * family is in sync when it did. Never rejects; undefined where there is nothing to wait for.
   */
  readonly beforeSynced?: (family: IpFamily) => Promise<void> | undefined;
}

/** Of one family's syncs. Says once, when the last family is in sync for the first time, how long that took. */
export function healthWithAnnouncement(
  proxy: Proxy,
  { beforeSynced, health }: SyncAudience,
): HealthSink {
  let isFirst = true;
  let isWaiting = false;
  const tell = (family: IpFamily) => {
    const before = health.report().inSync;
    health.updated(family);
    if (!before && health.report().inSync) announceSynced(proxy);
  };
  return {
    started: (family: IpFamily) => health.started(family),
    queued: (family: IpFamily) => health.queued(family),
    updated: (family: IpFamily) => {
      // What comes meanwhile is in force as well when the wait is over.
      if (isWaiting) return;
      const waiting = isFirst ? beforeSynced?.(family) : undefined;
      isFirst = false;
      if (!waiting) return tell(family);
      isWaiting = true;
      void waiting.finally(() => {
        isWaiting = false;
        tell(family);
      });
    },
  };
}
