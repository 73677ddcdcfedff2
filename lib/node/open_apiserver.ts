/** Objects from an apiserver, and Events to it. */
import type { MetricsRegistry } from "../base/metrics.ts";
import { SystemCommands } from "../kernel/commands.ts";
import type { OptOutMetrics } from "../watchers/opt_out.ts";
import type { OpenSource, SourceOptions } from "./source.ts";

/** Connects as the configuration says; nothing is asked before somebody watches. */
export async function openApiserver(context: SourceOptions): Promise<OpenSource> {
  const { options, clock, logger, lifetime, metrics, nodeName, hostName, env } = context;
  const { clientConnection } = options.configuration;
  const [{ connect }, { registerClientMetrics }, { ApiEventSink }, { createApiserverSource }] =
    await Promise.all([
      import("../kube/connect.ts"),
      import("../kube/client_metrics.ts"),
      import("../kube/events.ts"),
      import("../watchers/apiserver_source.ts"),
    ]);
  const client = await connect({
    kubeconfig: clientConnection.kubeconfig,
    master: options.master,
    environment: env,
    userAgent: context.userAgent,
    qps: clientConnection.qps,
    burst: clientConnection.burst,
    contentType: clientConnection.contentType,
    acceptContentTypes: clientConnection.acceptContentTypes,
    metrics: registerClientMetrics(metrics),
    commands: new SystemCommands(env("PATH") ?? ""),
    clock,
  });
  lifetime.own(client);
  const events = new ApiEventSink({ client, hostName, clock, log: logger });
  if (!options.dryRun) {
    lifetime.own(events);
    lifetime.start((signal) => events.run(signal));
  }
  const source = createApiserverSource({
    client,
    nodeName,
    ...(options.namespaceOptOut
      ? { optOut: { delayMs: options.namespaceOptOutDelayMs, metrics: optOutMetrics(metrics) } }
      : {}),
    clock,
    log: logger,
    signal: lifetime.signal,
  });
  return { source, description: "an apiserver", events, hasNode: true };
}

function optOutMetrics(registry: MetricsRegistry): OptOutMetrics {
  return {
    namespaces: registry.gauge({
      name: "kubeproxy_optout_namespaces",
      help: "Namespaces whose Services this proxy leaves alone because of their label.",
    }),
    filteredLocally: registry.gauge({
      name: "kubeproxy_optout_filtered_locally",
      help:
        "Opted-out namespaces that the apiserver sends all the same, because a request has no room for their names.",
    }),
  };
}
