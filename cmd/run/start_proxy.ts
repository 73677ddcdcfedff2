/**
 * Puts a proxy together and runs it: source -> trackers -> sync -> writer, with health, metrics and
 * events beside them. Nothing is decided here but the order, which is upstream's.
 */
import { untilAborted } from "../../lib/base/abort.ts";
import { systemClock } from "../../lib/base/clock.ts";
import type { IpFamily } from "../../lib/base/ip_family.ts";
import type { Logger } from "../../lib/base/log.ts";
import { MetricsRegistry } from "../../lib/base/metrics.ts";
import { LinuxKernel } from "../../lib/kernel/kernel.ts";
import { loadRuntime, runnableModes } from "../../lib/writers/registry.ts";
import type { ModeRuntime, Probe } from "../../lib/writers/writer.ts";
import type { StartProxy } from "../run_command.ts";
import type { RunContext } from "../run_command.ts";
import type { RunOptions } from "../run_options.ts";
import { clusterStateOf } from "./cluster.ts";
import { chooseFamilies } from "./families.ts";
import { follow } from "./follow.ts";
import { Lifetime } from "./lifetime.ts";
import { NodeGuard } from "./node.ts";
import { nodeNameOf } from "./node_name.ts";
import { type Proxy, renderOnce, runForGood, syncOnce } from "./proxy.ts";
import { checkSanity } from "./sanity.ts";
import { openSource } from "./source.ts";
import { prepareConntrack } from "./start_duties.ts";

/** Runs until the context's signal or a failure; resolves to the exit code. */
export const startProxy: StartProxy = async (options, context) => {
  const startMs = systemClock.now();
  const runtime = await runtimeOf(options);
  await using kernel = new LinuxKernel();
  kernel.self.keepLittleFreeMemory();
  const lifetime = new Lifetime(context.signal);
  try {
    const proxy = await assemble(options, context, { runtime, kernel, lifetime, startMs });
    if (proxy && !options.initOnly) {
      await (options.dryRun ? renderOnce : options.once ? syncOnce : runForGood)(proxy);
    }
  } catch (error) {
    lifetime.fail(error);
  }
  lifetime.end();
  await lifetime.finished();
  return 0;
};

async function runtimeOf({ configuration }: RunOptions): Promise<ModeRuntime> {
  const { mode } = configuration;
  const runtime = mode === "" ? undefined : await loadRuntime(mode, configuration);
  if (runtime) return runtime;
  throw new Error(
    `Cannot run in ${mode} mode: this version of the program only has ${
      runnableModes.join(", ")
    }; ` +
      `set "mode: ${runnableModes[0]}" in the configuration or give --proxy-mode=${
        runnableModes[0]
      }`,
  );
}

interface Parts {
  readonly runtime: ModeRuntime;
  readonly kernel: LinuxKernel;
  readonly lifetime: Lifetime;
  readonly startMs: number;
}

/** Undefined when the end came first. */
async function assemble(
  options: RunOptions,
  context: RunContext,
  { runtime, kernel, lifetime, startMs }: Parts,
): Promise<Proxy | undefined> {
  const { configuration } = options;
  const { logger } = context;
  const clock = systemClock;
  const hostName = Deno.hostname();
  const nodeName = nodeNameOf(configuration.hostnameOverride, hostName);
  if (!options.dryRun && !kernel.self.hasNetAdmin()) {
    throw new Error(
      "Cannot program the kernel: this process lacks CAP_NET_ADMIN; run it as root, or with that capability",
    );
  }
  const metrics = new MetricsRegistry();
  const { source, description, events, hasNode } = await openSource({
    options,
    nodeName,
    hostName,
    clock,
    logger,
    metrics,
    lifetime,
    stderr: context.stderr,
    env: context.env,
  });
  const state = clusterStateOf(options, { nodeName, startMs, kernel });
  const guard = new NodeGuard({
    nodeName,
    detectLocalMode: configuration.detectLocalMode,
    clock,
    logger,
    current: () => state.node,
  });
  let onChange = () => {};
  const completeness = follow({
    source,
    state,
    lifetime,
    onChange: () => onChange(),
    onNode: () => hasNode && guard.heard(),
  });
  if (hasNode) await guard.wait(lifetime.signal);
  else await Promise.race([completeness.completed, untilAborted(lifetime.signal)]);
  if (lifetime.signal.aborted) return undefined;
  if (!options.dryRun) prepareConntrack({ options, kernel, logger });
  const families = await chooseFamilies({
    mode: configuration.mode,
    policy: configuration.ipFamilyPolicy,
    primary: state.nodeIPs.primaryFamily,
    logger,
    probe: (family) => probeOf(family, { runtime, kernel, options }),
  });
  tellSanity(options, { state, families, logger });
  return {
    options,
    context,
    clock,
    nodeName,
    startMs,
    description,
    hasNode,
    kernel,
    runtime,
    lifetime,
    metrics,
    events,
    state,
    families,
    completeness,
    setOnChange: (listener) => onChange = listener,
  };
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
  readonly kernel: LinuxKernel;
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
