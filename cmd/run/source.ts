/** Where the objects come from: manifest files or an apiserver. */
import type { Clock } from "../../lib/base/clock.ts";
import type { EventSink } from "../../lib/base/event_sink.ts";
import type { Logger } from "../../lib/base/log.ts";
import type { MetricsRegistry } from "../../lib/base/metrics.ts";
import { RepeatedFailureLog } from "../../lib/base/repeated_failure.ts";
import { programCommit } from "../../lib/base/version.ts";
import type { OptOutMetrics } from "../../lib/watchers/opt_out.ts";
import type { Source } from "../../lib/watchers/source.ts";
import type { Output } from "../command.ts";
import type { RunOptions } from "../run_options.ts";
import { architecture } from "./architecture.ts";
import type { Lifetime } from "./lifetime.ts";
import { ProgressLine } from "./progress_line.ts";

export interface SourceOptions {
  readonly options: RunOptions;
  readonly nodeName: string;
  readonly hostName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Shows on a terminal what is being read. */
  readonly stderr: Output;
  readonly metrics: MetricsRegistry;
  readonly lifetime: Lifetime;
  readonly env: (name: string) => string | undefined;
}

/** A source, and where to write what happens here. */
export interface OpenSource {
  readonly source: Source;
  /** In a few words, for people. */
  readonly description: string;
  readonly events: EventSink;
  /** Whether the Node is known to the source for sure, so that waiting for it makes sense. */
  readonly hasNode: boolean;
}

/** Opens the source that the options name; a source that can never work throws. */
export function openSource(context: SourceOptions): Promise<OpenSource> {
  return context.options.manifests === "" ? openApiserver(context) : openManifests(context);
}

async function openManifests(context: SourceOptions): Promise<OpenSource> {
  const { options, clock, logger, lifetime } = context;
  const progress = new ProgressLine(context.stderr);
  let opened = false;
  const { describeManifestProblem, ManifestsSource } = await import(
    "../../lib/watchers/manifests.ts"
  );
  const failures = new RepeatedFailureLog(logger, clock);
  const source = await ManifestsSource.open({
    path: options.manifests,
    clock,
    namespaceOptOut: options.namespaceOptOut,
    signal: lifetime.signal,
    onReading: (path) => {
      if (!opened) progress.show(`Reading ${path} ...`);
    },
    onProblem: (problem) => {
      progress.clear();
      const message = describeManifestProblem(problem);
      failures.report({
        key: message,
        message: "Cannot use a manifest",
        error: new Error(message),
      });
    },
    onNotice: (message) => {
      progress.clear();
      logger.info(message);
    },
  }).finally(() => progress.clear());
  opened = true;
  const once = options.once || options.dryRun;
  const { all, broken } = source.files;
  // What is in the kernel from an earlier run serves on; without these files it would be taken away.
  if (broken > 0 && (once || broken === all)) {
    const files = all === 1 ? "file" : "files";
    throw new Error(
      `Cannot use the manifests "${options.manifests}": ${broken} of ${all} ${files} cannot be used, as told above; correct what is wrong, nothing was changed`,
    );
  }
  if (all === 0 && !lifetime.signal.aborted) {
    logger.info("There is no .yaml, .yml or .json file in the directory of manifests yet", {
      directory: options.manifests,
    });
  }
  if (!once) lifetime.start((signal) => source.follow(signal));
  return {
    source,
    description: options.manifests === "-"
      ? "manifests from stdin"
      : `manifests in ${options.manifests}`,
    // Nobody keeps events here; what is worth one is logged as well.
    events: { emit: () => {} },
    hasNode: false,
  };
}

async function openApiserver(context: SourceOptions): Promise<OpenSource> {
  const { options, clock, logger, lifetime, metrics, nodeName, hostName, env } = context;
  const { clientConnection } = options.configuration;
  const [{ connect }, { registerClientMetrics }, { ApiEventSink }, { createApiserverSource }] =
    await Promise.all([
      import("../../lib/kube/connect.ts"),
      import("../../lib/kube/client_metrics.ts"),
      import("../../lib/kube/events.ts"),
      import("../../lib/watchers/apiserver_source.ts"),
    ]);
  const client = await connect({
    kubeconfig: clientConnection.kubeconfig,
    master: options.master,
    environment: env,
    userAgent: `kube-proxy/${options.reportedVersion} (linux/${architecture()}) kubernetes/${
      programCommit.slice(0, 7) || "unknown"
    }`,
    qps: clientConnection.qps,
    burst: clientConnection.burst,
    contentType: clientConnection.contentType,
    acceptContentTypes: clientConnection.acceptContentTypes,
    metrics: registerClientMetrics(metrics),
    clock,
  });
  const events = new ApiEventSink({ client, hostName, clock, log: logger });
  if (!options.dryRun) lifetime.start((signal) => events.run(signal));
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
