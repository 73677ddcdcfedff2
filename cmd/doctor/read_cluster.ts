/**
 * What the cluster, or a folder of manifests, wants of this node now: by the same functions as in `run`,
 * up to the snapshots that a writer would get. Nothing is written to the cluster.
 */
import type { IpFamily } from "../../lib/base/ip_family.ts";
import type { Logger } from "../../lib/base/log.ts";
import { describeError } from "../../lib/base/errors.ts";
import { MetricsRegistry } from "../../lib/base/metrics.ts";
import { programVersion } from "../../lib/base/version.ts";
import type { FeatureGates } from "../../lib/config/feature_gates.ts";
import type { ProxyConfiguration } from "../../lib/config/internal.ts";
import type { ClusterObjects } from "../../lib/doctor/cluster_objects.ts";
import { CollectedSource } from "../../lib/doctor/collected_source.ts";
import type { Kernel } from "../../lib/kernel/kernel.ts";
import { readAddresses } from "../../lib/node/addresses.ts";
import { clusterStateOf } from "../../lib/node/cluster.ts";
import { chooseFamilies } from "../../lib/node/families.ts";
import { follow } from "../../lib/node/follow.ts";
import { Lifetime } from "../../lib/node/lifetime.ts";
import { openSource } from "../../lib/node/open_source.ts";
import type { Snapshot } from "../../lib/snapshot/snapshot.ts";
import type { ClusterState } from "../../lib/trackers/cluster_state.ts";
import type { ModeRuntime } from "../../lib/writers/writer.ts";
import { ProgressLine } from "../run/progress_line.ts";
import type { CommandContext } from "../command.ts";
import type { DoctorMachine } from "./machine.ts";

/** Whose objects, and where they come from. */
export interface ClusterQuestion {
  /** With the kubeconfig in it. */
  readonly configuration: ProxyConfiguration;
  readonly gates: FeatureGates;
  readonly manifests: readonly string[];
  readonly nodeName: string;
  readonly context: CommandContext;
  readonly machine: DoctorMachine;
  readonly kernel: Kernel;
  readonly runtime: ModeRuntime;
  /** Whether rules of another mode are in this kernel, beside which more are needed. */
  readonly hasLeftovers: () => Promise<boolean>;
}

/** What was read. */
export interface ClusterReading {
  readonly objects: ClusterObjects;
  /** One a family that this node serves, IPv4 first. */
  readonly snapshots: readonly Snapshot[];
}

/** An apiserver that needs longer is none; files only take as long as this machine is slow. */
const patienceMs = { apiserver: 10_000, files: 30_000 } as const;
/** For what an apiserver need not have. */
const extraMs = 500;

/** Throws one sentence where the objects cannot be had in time. */
export async function readCluster(
  question: ClusterQuestion,
  signal: AbortSignal,
): Promise<ClusterReading> {
  const lifetime = new Lifetime(signal);
  try {
    return await read(question, lifetime);
  } finally {
    lifetime.end();
    // What ending tasks throw is the noise of ending.
    await lifetime.finished().catch(() => {});
  }
}

async function read(question: ClusterQuestion, lifetime: Lifetime): Promise<ClusterReading> {
  const { configuration, context, gates, kernel, machine, manifests, nodeName, runtime } = question;
  const { clock, hostName } = machine;
  const complaints = new Complaints();
  const startMs = clock.now();
  const { hasNode, source } = await openSource({
    options: {
      configuration,
      manifests,
      master: "",
      once: true,
      dryRun: true,
      namespaceOptOut: true,
      namespaceOptOutDelayMs: 0,
    },
    nodeName,
    hostName,
    clock,
    logger: complaints,
    metrics: new MetricsRegistry(),
    lifetime,
    env: context.env,
    progress: new ProgressLine(context.stderr),
    userAgent: `kube-proxy/${programVersion} doctor`,
  });
  const { listsAllAddresses } = runtime;
  const state = clusterStateOf({ configuration, gates, nodeName, startMs, listsAllAddresses });
  const { links } = kernel;
  const logger = complaints;
  await readAddresses({ links, state, clock, logger, standIn: !hasNode }, lifetime.signal);
  const collected = new CollectedSource(source);
  const { completed } = follow({ source: collected, state, lifetime, onNode: () => {} });
  const enough = Promise.all([completed, collected.completed]).then(() => true);
  const waitMs = patienceMs[manifests.length > 0 ? "files" : "apiserver"];
  const late = clock.sleep(waitMs, lifetime.signal).then(() => false);
  if (!await Promise.race([enough, late, lifetime.finished().then(() => false)])) {
    throw new Error(complaints.last ?? `no complete answer in ${waitMs / 1_000} s`);
  }
  await Promise.race([collected.hasServiceCIDRs, clock.sleep(extraMs, lifetime.signal)]);
  state.setLeftovers(await question.hasLeftovers());
  const families = await familiesOf(question, state, complaints);
  return { objects: collected.objects, snapshots: families.flatMap(snapshotOf(state)) };
}

function familiesOf(
  { configuration, kernel }: ClusterQuestion,
  state: ClusterState,
  logger: Logger,
): Promise<readonly IpFamily[]> {
  return chooseFamilies({
    mode: configuration.mode,
    policy: configuration.ipFamilyPolicy,
    primary: state.nodeIPs.primaryFamily,
    logger,
    // Whether the kernel can serve a family shows when its rules are loaded.
    probe: (family) =>
      Promise.resolve(
        family === "IPv6" && !kernel.host.ipv6Available()
          ? { kind: "unsupported", reason: "IPv6 is switched off in this kernel" }
          : { kind: "supported" },
      ),
  });
}

function snapshotOf(state: ClusterState) {
  return (family: IpFamily): readonly Snapshot[] => {
    const own = state.families.get(family);
    if (!own) return [];
    let taken = own.take();
    while (taken.hasMore) {
      own.commit();
      taken = own.take();
    }
    return [taken.snapshot];
  };
}

/** Remembers the last thing that went wrong: it is why there is no answer. */
class Complaints implements Logger {
  last: string | undefined;

  info(): void {}
  verbose(): void {}
  warning(message: string): void {
    this.last = message;
  }
  error(message: string, error?: unknown): void {
    this.last = error === undefined ? message : describeError(error);
  }
  enabled(): boolean {
    return false;
  }
}
