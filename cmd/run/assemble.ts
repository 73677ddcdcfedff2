/**
 * Puts a proxy together: source -> trackers -> sync -> writer, with health, metrics and events beside
 * them. Nothing is decided here but the order, which is upstream's.
 */
import { untilAborted } from "../../lib/base/abort.ts";
import type { IpFamily } from "../../lib/base/ip_family.ts";
import type { Logger } from "../../lib/base/log.ts";
import { MetricsRegistry } from "../../lib/base/metrics.ts";
import { programCommit } from "../../lib/base/version.ts";
import type { Kernel } from "../../lib/kernel/kernel.ts";
import { readAddresses } from "../../lib/node/addresses.ts";
import { clusterStateOf } from "../../lib/node/cluster.ts";
import { chooseFamilies } from "../../lib/node/families.ts";
import { follow } from "../../lib/node/follow.ts";
import type { Lifetime } from "../../lib/node/lifetime.ts";
import { NodeGuard } from "../../lib/node/node_guard.ts";
import { nodeNameOf } from "../../lib/node/node_name.ts";
import { openSource } from "../../lib/node/open_source.ts";
import type { FamilySettings } from "../../lib/snapshot/snapshot.ts";
import type { ClusterState } from "../../lib/trackers/cluster_state.ts";
import type { ModeRuntime, Probe } from "../../lib/writers/writer.ts";
import type { RunContext } from "../run_command.ts";
import type { RunOptions } from "../run_options.ts";
import { openDoors } from "./leftovers.ts";
import type { Machine } from "./machine.ts";
import { processor } from "./processor.ts";
import { ProgressLine } from "./progress_line.ts";
import type { Proxy } from "./proxy.ts";
import { checkSanity } from "./sanity.ts";
import { prepareConntrack, recordProxy } from "./start_duties.ts";

/** What a proxy is put together from, besides what was asked for. */
export interface AssemblyParts {
  readonly runtime: ModeRuntime;
  readonly machine: Machine;
  readonly lifetime: Lifetime;
  readonly startMs: number;
}

/** Undefined when the end came first. */
export async function assemble(
  options: RunOptions,
  context: RunContext,
  parts: AssemblyParts,
): Promise<Proxy | undefined> {
  const { runtime, machine, lifetime, startMs } = parts;
  const { configuration } = options;
  const { logger } = context;
  if (!options.dryRun && !machine.kernel.self.hasNetAdmin()) {
    throw new Error(
      "Cannot program the kernel: this process lacks CAP_NET_ADMIN; run it as root, or with that capability",
    );
  }
  if (!options.dryRun) openDoors();
  const knowledge = await firstKnowledge(options, context, parts);
  if (lifetime.signal.aborted) return undefined;
  const { state } = knowledge;
  const kernel = options.dryRun
    ? machine.kernel
    : await recordProxy({ options, context, machine, runtime, lifetime, startMs });
  if (!options.dryRun) prepareConntrack({ options, kernel, logger });
  const families = await chooseFamilies({
    mode: configuration.mode,
    policy: configuration.ipFamilyPolicy,
    primary: state.nodeIPs.primaryFamily,
    logger,
    probe: (family) => probeOf(family, { runtime, kernel, options }),
  });
  tellSanity(options, { state, families, logger });
  if (!options.dryRun) {
    await runtime.prepare({ kernel, settings: settingsOf(state, families), logger });
  }
  return {
    ...knowledge,
    options,
    context,
    clock: machine.clock,
    startMs,
    kernel,
    runtime,
    lifetime,
    families,
  };
}

type Knowledge = Pick<
  Proxy,
  "nodeName" | "metrics" | "description" | "events" | "hasNode" | "state" | "completeness"
>;

/** Follows the source until this node's own object is known, or everything where there is none. */
async function firstKnowledge(
  options: RunOptions,
  { logger, stderr, env }: RunContext,
  { runtime, machine: { kernel, clock, hostName }, lifetime, startMs }: AssemblyParts,
): Promise<Knowledge> {
  const { configuration, gates } = options;
  const nodeName = nodeNameOf(configuration.hostnameOverride, hostName);
  const metrics = new MetricsRegistry();
  const { source, description, events, hasNode } = await openSource({
    options,
    nodeName,
    hostName,
    clock,
    logger,
    metrics,
    lifetime,
    env,
    progress: new ProgressLine(stderr),
    userAgent: userAgentOf(options),
  });
  const { listsAllAddresses, ownLink } = runtime;
  const state = clusterStateOf({ configuration, gates, nodeName, startMs, listsAllAddresses });
  const { links } = kernel;
  await readAddresses({ links, ownLink, state, clock, logger, standIn: !hasNode }, lifetime.signal);
  const guard = new NodeGuard({
    nodeName,
    clock,
    logger,
    detectLocalMode: configuration.detectLocalMode,
    current: () => state.node,
  });
  const completeness = follow({
    source,
    state,
    lifetime,
    onNode: () => hasNode && guard.heard(),
  });
  if (hasNode) await guard.wait(lifetime.signal);
  else await Promise.race([completeness.completed, untilAborted(lifetime.signal)]);
  if (!hasNode && !state.node && !lifetime.signal.aborted) tellStandIn(nodeName, state, logger);
  return { nodeName, metrics, description, events, hasNode, state, completeness };
}

/** Files need not hold Nodes; a name that does not match is a slip all the same, most likely. */
function tellStandIn(nodeName: string, state: ClusterState, logger: Logger): void {
  const { otherNodeName } = state;
  if (otherNodeName !== undefined) {
    logger.warning(
      `No Node is called "${nodeName}", so no endpoint is known to be on this node; ` +
        `give --hostname-override=${otherNodeName} where it is "${otherNodeName}"`,
    );
  }
  const { IPv4, IPv6 } = state.nodeIPs.addresses;
  const addresses = [IPv4, IPv6].filter((ip) => ip !== "127.0.0.1" && ip !== "::1").join(",");
  if (addresses === "") {
    logger.warning("No Node tells this node's addresses, and its interfaces have none yet");
  } else {
    logger.info("Taking the addresses of this node from its interfaces: no Node tells them", {
      node: nodeName,
      addresses,
    });
  }
}

function settingsOf(
  { families: states }: ClusterState,
  families: readonly IpFamily[],
): ReadonlyMap<IpFamily, FamilySettings> {
  return new Map(
    [...states].flatMap(([family, { settings }]) =>
      families.includes(family) ? [[family, settings]] : []
    ),
  );
}

/** As upstream's, so that an audit log knows both. */
function userAgentOf({ reportedVersion }: RunOptions): string {
  const commit = programCommit.slice(0, 7) || "unknown";
  return `kube-proxy/${reportedVersion} (linux/${processor()}) kubernetes/${commit}`;
}

function tellSanity(
  { configuration, gates }: RunOptions,
  { state, families, logger }: Pick<Proxy, "state" | "families"> & { readonly logger: Logger },
): void {
  const { warnings, fatal } = checkSanity({
    configuration,
    primary: state.nodeIPs.primaryFamily,
    dualStack: families.length > 1,
    podCIDRs: configuration.detectLocalMode === "NodeCIDR" ? state.node?.podCIDRs ?? [] : [],
    localhostGate: gates.enabled("KubeProxyNFTablesLocalhostNodePorts"),
  });
  for (const warning of warnings) {
    logger.error("Kube-proxy configuration may be incomplete or incorrect", new Error(warning));
  }
  if (fatal.length > 0) throw new Error(`Cannot start: ${fatal.join("; ")}`);
}

interface ProbeParts {
  readonly runtime: ModeRuntime;
  readonly kernel: Kernel;
  readonly options: RunOptions;
}

async function probeOf(family: IpFamily, { runtime, kernel, options }: ProbeParts): Promise<Probe> {
  if (family === "IPv6" && !kernel.host.ipv6Available()) {
    return { kind: "unsupported", reason: "IPv6 is switched off in this kernel" };
  }
  // Printing rules asks nothing of the kernel.
  if (options.dryRun) return { kind: "supported" };
  const probe = await runtime.probe(kernel, family);
  // What cannot be told by asking shows when it is tried.
  return probe.kind === "unknown" ? { kind: "supported" } : probe;
}
