/** A proxy that is put together, and the three ways to run it. */
import { untilAborted } from "../../lib/base/abort.ts";
import type { Clock } from "../../lib/base/clock.ts";
import type { EventSink } from "../../lib/base/event_sink.ts";
import { untilRewritten } from "../../lib/base/files_watch.ts";
import type { IpFamily } from "../../lib/base/ip_family.ts";
import type { MetricsRegistry } from "../../lib/base/metrics.ts";
import { ListedPorts, SharedPorts } from "../../lib/health/ports.ts";
import { ProxyHealth } from "../../lib/health/proxy_health.ts";
import { type HealthCheckService, ServiceHealthServers } from "../../lib/health/service_health.ts";
import type { LinuxKernel } from "../../lib/kernel/kernel.ts";
import { applyOomScore } from "../../lib/kernel/oom_score.ts";
import { FamilySync } from "../../lib/sync/family_sync.ts";
import { PromSyncMetrics } from "../../lib/sync/sync_metrics.ts";
import type { ClusterState } from "../../lib/trackers/cluster_state.ts";
import type { ModeRuntime } from "../../lib/writers/writer.ts";
import type { RunContext } from "../run_command.ts";
import type { RunOptions } from "../run_options.ts";
import { announce, announceSynced } from "./announce.ts";
import type { Completeness } from "./follow.ts";
import type { Lifetime } from "./lifetime.ts";
import { returnMemory } from "./memory.ts";
import { architecture } from "./architecture.ts";
import { registerProgramMetrics } from "./program_metrics.ts";
import { startServers } from "./servers.ts";

export interface Proxy {
  readonly options: RunOptions;
  readonly context: RunContext;
  readonly clock: Clock;
  readonly nodeName: string;
  readonly startMs: number;
  /** Where objects come from, in a few words. */
  readonly description: string;
  /** Whether the source knows this node for sure. */
  readonly hasNode: boolean;
  readonly kernel: LinuxKernel;
  readonly runtime: ModeRuntime;
  readonly lifetime: Lifetime;
  readonly metrics: MetricsRegistry;
  readonly events: EventSink;
  readonly state: ClusterState;
  /** Those that are programmed, IPv4 first. */
  readonly families: readonly IpFamily[];
  readonly completeness: Completeness;
  /** Who is to be told that a sync may have something to do. */
  readonly setOnChange: (listener: () => void) => void;
}

/** The longest time without comparing the kernel as a whole. */
const fullSyncMs = 60 * 60_000;
/** Changes that come together are one sync; nobody waits longer than this for company. */
const gathering = { quietMs: 1, mostMs: 10 } as const;
/** The taint of a node that the cluster autoscaler is about to remove. */
const leavingTaint = "ToBeDeletedByClusterAutoscaler";

/** Prints what a first sync would write. */
export async function renderOnce(
  { state, families, runtime, completeness, context, lifetime }: Proxy,
): Promise<void> {
  await untilComplete(completeness, lifetime);
  for (const family of families) {
    const taken = state.families.get(family)?.take();
    if (taken) context.stdout.write(runtime.renderText(taken.snapshot));
  }
  tellNotices(context, state);
}

/** Programs everything once; throws when a family could not be programmed. */
export async function syncOnce(proxy: Proxy): Promise<void> {
  const { lifetime, completeness } = proxy;
  announce(proxy);
  await untilComplete(completeness, lifetime);
  if (lifetime.signal.aborted) return;
  const errors: unknown[] = [];
  for (const sync of await familySyncs(proxy, healthOf(proxy))) {
    await sync.sync(lifetime.signal).catch((error) => errors.push(error));
  }
  tellNotices(proxy.context, proxy.state);
  if (errors.length > 0) throw errors[0];
}

/** Keeps everything programmed until the lifetime ends. */
export async function runForGood(proxy: Proxy): Promise<void> {
  const { clock, context, lifetime, metrics, nodeName, options, events, state, kernel } = proxy;
  const { logger } = context;
  announce(proxy);
  lifetime.start((signal) =>
    applyOomScore(
      options.configuration.linux.oomScoreAdj,
      { self: kernel.self, clock, logger },
      signal,
    )
  );
  const health = healthOf(proxy);
  registerProgramMetrics(metrics, {
    gates: options.gates,
    self: kernel.self,
    reportedVersion: options.reportedVersion,
    platform: `linux/${architecture()}`,
  });
  startServers({ ...proxy, logger, health });
  for (const file of options.configFiles) {
    lifetime.start(async (signal) => {
      await untilRewritten(file, signal);
      if (!signal.aborted) {
        throw new Error(
          `Content of the config file "${file}" was updated; ending to be started anew with it`,
        );
      }
    });
  }
  const syncs = await familySyncs(proxy, health);
  proxy.setOnChange(() => {
    tellNotices(context, state);
    for (const sync of syncs) sync.request();
  });
  for (const sync of syncs) lifetime.start((signal) => sync.run(signal));
  lifetime.start((signal) => returnMemory(kernel.self, { clock, signal }));
  lifetime.start((signal) => followAddresses(proxy, syncs, signal));
  const about = { kind: "Node", namespace: "", name: nodeName } as const;
  events.emit({ about, type: "Normal", reason: "Starting", action: "StartKubeProxy", note: "" });
  await lifetime.finished();
}

async function familySyncs(proxy: Proxy, health: ProxyHealth): Promise<readonly FamilySync[]> {
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
  const { configuration } = options;
  const own = runtime.registerMetrics(metrics);
  const syncMetrics = new PromSyncMetrics({
    registry: metrics,
    events: () => families.flatMap((family) => state.families.get(family)?.events ?? []),
    partialSyncs: true,
    onFailed: (family) => own.syncFailed(family),
  });
  const everywhere = new SharedPorts();
  const syncs: FamilySync[] = [];
  for (const family of families) {
    const source = state.families.get(family);
    if (!source) continue;
    const writer = await runtime.createWriter({ family, kernel, logger: context.logger });
    const healthChecks = serviceHealth(proxy, family, { health, everywhere });
    lifetime.signal.addEventListener("abort", () => void healthChecks[Symbol.asyncDispose](), {
      once: true,
    });
    syncs.push(
      new FamilySync({
        source,
        writer,
        conntrack: kernel.conntrack,
        isComplete: () => completeness.isComplete,
        intervals: {
          minMs: configuration.minSyncPeriodMs ?? 0,
          retryMs: configuration.syncPeriodMs,
          maxMs: fullSyncMs,
          ...(configuration.minSyncPeriodMs === undefined ? { gathering } : {}),
        },
        fullSyncMs,
        health: withAnnouncement(proxy, health),
        healthChecks,
        metrics: syncMetrics,
        notices: { notice: (_family, { message }) => context.logger.warning(message) },
        logger: context.logger,
        clock,
      }),
    );
  }
  return syncs;
}

/** Says once, when the last family is in sync for the first time, how long that took. */
function withAnnouncement(proxy: Proxy, health: ProxyHealth) {
  return {
    started: (family: IpFamily) => health.started(family),
    queued: (family: IpFamily) => health.queued(family),
    updated: (family: IpFamily) => {
      const before = health.report().inSync;
      health.updated(family);
      if (!before && health.report().inSync) announceSynced(proxy);
    },
  };
}

function healthOf({ clock, families, hasNode, options, state }: Proxy): ProxyHealth {
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

function serviceHealth(
  { events, context, nodeName, state }: Proxy,
  family: IpFamily,
  { health, everywhere }: { readonly health: ProxyHealth; readonly everywhere: SharedPorts },
) {
  const { nodePortAddresses } = state.families.get(family)?.settings ?? {};
  return new ServiceHealthServers({
    ports: nodePortAddresses?.kind === "listed"
      ? new ListedPorts(nodePortAddresses.addresses)
      : everywhere.of(family),
    isProxyHealthy: () => health.isAlive(),
    onListenFailure: (service: HealthCheckService, error) => {
      const { namespace, name, port } = service;
      const cause = error instanceof Error ? error.message : String(error);
      const note =
        `node ${nodeName} failed to start healthcheck "${namespace}/${name}" on port ${port}: ${cause}`;
      context.logger.error("Failed to start healthcheck", error, {
        node: nodeName,
        service: `${namespace}/${name}`,
        port,
      });
      const about = { kind: "Service", namespace, name } as const;
      events.emit({
        about,
        type: "Warning",
        reason: "FailedToStartServiceHealthcheck",
        action: "Listen",
        note,
      });
    },
  });
}

/** Node ports answer on addresses that come and go with the interfaces. */
async function followAddresses(
  { kernel, state }: Proxy,
  syncs: readonly FamilySync[],
  signal: AbortSignal,
): Promise<void> {
  for await (const _ of kernel.links.watchAddresses(signal)) {
    if (!state.setInterfaceAddresses(kernel.links.addresses().map(({ ip }) => ip))) continue;
    for (const sync of syncs) sync.request();
  }
}

function tellNotices({ logger }: RunContext, state: ClusterState): void {
  for (const { message } of state.takeNotices()) logger.warning(message);
}

async function untilComplete(completeness: Completeness, { signal }: Lifetime): Promise<void> {
  await Promise.race([completeness.completed, untilAborted(signal)]);
}
