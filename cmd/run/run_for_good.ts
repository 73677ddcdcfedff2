/** The usual way to run: until a signal, or until one of the duties fails. */
import { applyOomScore } from "../../lib/kernel/oom_score.ts";
import { followAddresses } from "../../lib/node/addresses.ts";
import { announce } from "./announce.ts";
import { endWhenRewritten } from "./config_file.ts";
import { familySyncs, paceOf } from "./family_syncs.ts";
import { leftoverWatch } from "./leftovers.ts";
import { returnMemory } from "./memory.ts";
import { processor } from "./processor.ts";
import { registerProgramMetrics } from "./program_metrics.ts";
import type { Proxy } from "./proxy.ts";
import { proxyHealth } from "./proxy_health.ts";
import { startServers } from "./servers.ts";

/** How many changes of any family were heard of. */
function changesOf({ families, state }: Proxy): number {
  const events = families.flatMap((family) => state.families.get(family)?.events ?? []);
  return events.reduce(
    (sum, each) => sum + each.endpointChangesTotal + each.serviceChangesTotal,
    0,
  );
}

/** How many endpoints the rules of all families lead to, as of their last syncs. */
function endpointsOf({ families, state }: Proxy): number {
  return families.reduce(
    (sum, family) => sum + (state.families.get(family)?.counts.endpoints ?? 0),
    0,
  );
}

/** Keeps everything programmed until the lifetime ends. */
export async function runForGood(proxy: Proxy): Promise<void> {
  const { clock, context, lifetime, metrics, nodeName, options, events, runtime, state, kernel } =
    proxy;
  const { logger } = context;
  announce(proxy);
  const leftovers = leftoverWatch(proxy);
  lifetime.start((signal) =>
    applyOomScore(
      options.configuration.linux.oomScoreAdj,
      { self: kernel.self, clock, logger },
      signal,
    )
  );
  const health = proxyHealth(proxy);
  registerProgramMetrics(metrics, {
    gates: options.gates,
    self: kernel.self,
    reportedVersion: options.reportedVersion,
    platform: `linux/${processor()}`,
  });
  startServers({ ...proxy, logger, health, pace: await paceOf(proxy) });
  for (const file of options.configFiles) {
    lifetime.start((signal) => endWhenRewritten(file, { logger, signal }));
  }
  await leftovers.look(lifetime.signal);
  const syncs = await familySyncs(proxy, {
    health,
    // Nobody may be told that Services work while packets meet another mode's rules first.
    beforeSynced: (family) =>
      leftovers.hasFound ? leftovers.standAside([family], lifetime.signal) : undefined,
  });
  for (const sync of syncs) lifetime.start((signal) => sync.run(signal));
  lifetime.start((signal) => leftovers.follow(signal, () => health.report().inSync));
  lifetime.start((signal) => kernel.untilLost(signal));
  const [changes, endpoints] = [() => changesOf(proxy), () => endpointsOf(proxy)];
  lifetime.start((signal) =>
    returnMemory({ self: kernel.self, clock, changes, endpoints }, signal)
  );
  lifetime.start((signal) =>
    followAddresses(
      {
        links: kernel.links,
        ownLink: runtime.ownLink,
        state,
        clock,
        logger,
        standIn: !proxy.hasNode,
      },
      signal,
    )
  );
  const about = { kind: "Node", namespace: "", name: nodeName } as const;
  events.emit({ about, type: "Normal", reason: "Starting", action: "StartKubeProxy", note: "" });
  await lifetime.finished();
}
