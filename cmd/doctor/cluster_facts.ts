/** The facts that come of the cluster: its objects, and the rehearsal of what it wants of this node. */
import { describeError } from "../../lib/base/errors.ts";
import type { FeatureGates } from "../../lib/config/feature_gates.ts";
import type { ProxyConfiguration } from "../../lib/config/internal.ts";
import type { Fact, FactReaders } from "../../lib/doctor/fact.ts";
import type { RehearsalReport } from "../../lib/doctor/rehearsal/report.ts";
import { servedNowReader } from "../../lib/doctor/facts/served_now.ts";
import type { Kernel } from "../../lib/kernel/kernel.ts";
import { leftoversByMode, loadRuntime, type ModeSections } from "../../lib/writers/registry.ts";
import type { ModeRuntime } from "../../lib/writers/writer.ts";
import type { CommandContext } from "../command.ts";
import type { DoctorMachine } from "./machine.ts";
import { type ClusterReading, readCluster } from "./read_cluster.ts";

/** What they are made of. */
export interface ClusterFactsOptions {
  /** Of the proxy that will serve, with the kubeconfig in it; or why it cannot be used. */
  readonly configuration:
    | { readonly kind: "usable"; readonly value: ProxyConfiguration; readonly gates: FeatureGates }
    | { readonly kind: "unusable"; readonly because: string };
  readonly manifests: readonly string[];
  /** Why nobody is to be asked; undefined where somebody is. */
  readonly withoutCluster: string | undefined;
  /** Why nothing is to be tried in the kernel. */
  readonly withoutProbe: string | undefined;
  readonly nodeName: string;
  readonly context: CommandContext;
  readonly machine: DoctorMachine;
  readonly kernel: Kernel;
}

const mode = "nftables";
const mostFrontends = 2_000;
const clusterTimeoutMs = 15_000;
const rehearsalTimeoutMs = 50_000;

/** The cluster is read once for all of them. */
export function clusterFacts(
  options: ClusterFactsOptions,
): Pick<FactReaders, "objects" | "rehearsal" | "servedNow"> {
  const { kernel, withoutProbe } = options;
  let begun: Promise<Fact<Known>> | undefined;
  // Whoever asks first may have less time than the others.
  const reading = () => begun ??= readOnce(options, options.context.signal);
  return {
    objects: {
      timeoutMs: clusterTimeoutMs,
      read: async () => {
        const read = await reading();
        return read.kind === "value" ? { kind: "value", value: read.value.objects } : read;
      },
    },
    servedNow: servedNowReader({
      leftovers: withoutProbe === undefined ? leftoversByMode : new Map(),
      kernel,
      snapshots: async () => {
        const read = await reading();
        return read.kind === "value" ? { kind: "value", value: read.value.snapshots } : read;
      },
    }),
    rehearsal: {
      timeoutMs: rehearsalTimeoutMs,
      read: async ({ signal }) => {
        if (withoutProbe !== undefined) return { kind: "lacking", because: withoutProbe };
        const read = await reading();
        return read.kind === "value" ? await rehearsed(read.value, options, signal) : read;
      },
    },
  };
}

/** What was read, and the settings of the modes that it was read with. */
interface Known extends ClusterReading {
  readonly sections: ModeSections;
}

async function readOnce(
  options: ClusterFactsOptions,
  signal: AbortSignal,
): Promise<Fact<Known>> {
  const { configuration, withoutCluster } = options;
  if (withoutCluster !== undefined) return { kind: "lacking", because: withoutCluster };
  if (configuration.kind === "unusable") {
    return { kind: "unknown", because: configuration.because };
  }
  try {
    const { gates, value } = configuration;
    const runtime = await loadRuntime(mode, value);
    if (!runtime) throw new TypeError(`Cannot rehearse ${mode} mode: it has no rules here`);
    const question = {
      ...options,
      configuration: value,
      gates,
      runtime,
      // Only the rehearsal wants to know, and asking may load a module.
      hasLeftovers: async () =>
        options.withoutProbe === undefined && await hasLeftovers(options.kernel, runtime, signal),
    };
    const read = await readCluster(question, signal);
    return { kind: "value", value: { ...read, sections: sectionsOf(value) } };
  } catch (error) {
    return { kind: "lacking", because: describeError(error) };
  }
}

/** As `run` would be told before its first sync. What cannot be asked has none. */
async function hasLeftovers(
  kernel: Kernel,
  runtime: ModeRuntime,
  signal: AbortSignal,
): Promise<boolean> {
  const found = await Promise.all([...leftoversByMode.values()].map(async (load) => {
    try {
      return await (await load()).find(kernel, signal);
    } catch {
      // What keeps them from being found is another check's to say.
      return [];
    }
  }));
  return found.flat().some((leftover) => !runtime.owns(leftover));
}

function sectionsOf({ iptables, ipvs, nftables, winkernel }: ProxyConfiguration): ModeSections {
  return { nftables, iptables, ipvs, winkernel };
}

async function rehearsed(
  { sections, snapshots }: Known,
  { kernel, machine }: ClusterFactsOptions,
  signal: AbortSignal,
): Promise<Fact<RehearsalReport>> {
  // Reading a large cluster leaves more garbage than there is to keep, and the rehearsal needs as much.
  kernel.self.collectGarbage();
  kernel.self.returnFreeMemory();
  const answer = await machine.rehearse({ mode, sections, snapshots, mostFrontends }, signal);
  switch (answer.kind) {
    case "report":
      return { kind: "value", value: answer.report };
    case "no-namespace":
      return {
        kind: "unknown",
        because: answer.because,
        advice: ["Run it as root, or in a privileged container: a namespace takes CAP_SYS_ADMIN."],
      };
    case "failed":
      return { kind: "unknown", because: answer.because };
  }
}
