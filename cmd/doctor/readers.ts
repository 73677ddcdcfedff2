/** How each fact is read on this machine. */
import { foundModeReader } from "../../lib/doctor/facts/found_mode.ts";
import { serviceRangesReader } from "../../lib/doctor/facts/service_ranges.ts";
import type { FactReaders } from "../../lib/doctor/fact.ts";
import type { Kernel } from "../../lib/kernel/kernel.ts";
import { nodeNameOf } from "../../lib/node/node_name.ts";
import { leftoversByMode } from "../../lib/writers/registry.ts";
import { findLiveProxy } from "../cleanup/live_proxy.ts";
import { NodeRecord } from "../cleanup/node_record.ts";
import type { CommandContext } from "../command.ts";
import { parseListenAddress } from "../run/servers.ts";
import { clusterFacts } from "./cluster_facts.ts";
import type { NodeConfiguration } from "./configuration.ts";
import * as flags from "./flags.ts";
import type { DoctorMachine } from "./machine.ts";

/** What they are made of. */
export interface ReadersOptions {
  readonly configuration: NodeConfiguration;
  readonly context: CommandContext;
  readonly kernel: Kernel;
  readonly machine: DoctorMachine;
}

/** The readers, and what they are about. */
export interface Readers {
  readonly readers: FactReaders;
  readonly nodeName: string;
  /** Whether a rehearsal was asked for. */
  readonly rehearses: boolean;
}

const usualPages = { healthz: "0.0.0.0:10256", metrics: "127.0.0.1:10249" };

/** Nothing is read before somebody asks. */
export function readersOf({ configuration, context, kernel, machine }: ReadersOptions): Readers {
  const { arguments: args, env } = context;
  const known = configuration.kind === "usable" ? configuration.value : undefined;
  const manifests = args.get(flags.manifestsFlag).filter((path) => path !== "");
  const kubeconfig = args.get(flags.kubeconfigFlag) ||
    known?.clientConnection.kubeconfig || env("KUBECONFIG") || "";
  const nodeName = nodeNameOf(
    args.get(flags.nodeFlag) || known?.hostnameOverride || "",
    machine.hostName,
  );
  const withoutCluster = manifests.length === 0 && args.get(flags.noClusterFlag)
    ? "--no-cluster is given, and no --manifests"
    : undefined;
  const withoutProbe = args.get(flags.noProbeFlag) ? "--no-probe is given" : undefined;
  const addresses = {
    healthz: parseListenAddress(known?.healthzBindAddress ?? usualPages.healthz),
    metrics: parseListenAddress(known?.metricsBindAddress ?? usualPages.metrics),
  };
  const path = args.get(flags.configFlag).join(", ");
  const recordFolder = machine.recordFolder &&
    `${args.get(flags.hostRootFlag).replace(/\/+$/, "")}${machine.recordFolder}`;
  return {
    nodeName,
    rehearses: withoutCluster === undefined && withoutProbe === undefined,
    readers: {
      foundMode: foundModeReader({
        runningMode: async (signal) => {
          const record = await NodeRecord.read({ folder: recordFolder, kernel, warn: () => {} });
          return await findLiveProxy(addresses, { ask: machine.ask, record, signal });
        },
        configured: { mode: configuration.kind === "usable" ? configuration.mode : "", path },
        leftovers: leftoversByMode,
        kernel,
      }),
      serviceRanges: serviceRangesReader(kernel.links),
      ...clusterFacts({
        configuration: configuration.kind === "unusable" ? configuration : {
          ...configuration,
          value: {
            ...configuration.value,
            clientConnection: { ...configuration.value.clientConnection, kubeconfig },
          },
        },
        manifests,
        withoutCluster,
        withoutProbe,
        nodeName,
        context,
        machine,
        kernel,
      }),
    },
  };
}
