/** How each fact is read on this machine. */
import { foundModeReader } from "../../lib/doctor/facts/found_mode.ts";
import { nodeReaders, type NodeReadersOptions } from "../../lib/doctor/facts/readers.ts";
import { serviceRangesReader } from "../../lib/doctor/facts/service_ranges.ts";
import type { FactReaders } from "../../lib/doctor/fact.ts";
import type { AskPage } from "../../lib/health/ask_page.ts";
import type { ListenAddress } from "../../lib/health/listener.ts";
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
import { requestJson } from "./request_json.ts";

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
        leftovers: withoutProbe === undefined || hasNfTables(machine) ? leftoversByMode : new Map(),
        kernel,
      }),
      serviceRanges: serviceRangesReader(kernel.links),
      ...nodeReaders(
        nodeOptions({ addresses, context, kernel, kubeconfig, machine, withoutCluster }),
      ),
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

/** Whether asking for rules loads no module. A kernel without any module has it built in. */
function hasNfTables({ modules }: DoctorMachine): boolean {
  const loaded = modules.loaded();
  return loaded.length === 0 || loaded.some(({ name }) => name === "nf_tables");
}

/** What is read of the node itself, and of the cluster besides its objects. */
function nodeOptions(
  { addresses, context, kernel, kubeconfig, machine, withoutCluster }:
    & Pick<ReadersOptions, "context" | "kernel" | "machine">
    & {
      readonly addresses: Readonly<Record<"healthz" | "metrics", ListenAddress | undefined>>;
      readonly kubeconfig: string;
      readonly withoutCluster: string | undefined;
    },
): NodeReadersOptions {
  const { arguments: args, env, signal } = context;
  const fromFiles = args.get(flags.manifestsFlag).some((path) => path !== "");
  return {
    kernel,
    hostRoot: args.get(flags.hostRootFlag).replace(/\/+$/, ""),
    mayProbe: !args.get(flags.noProbeFlag),
    configPaths: args.get(flags.configFlag).filter((each) => each !== ""),
    pagePorts: [addresses.metrics, addresses.healthz].flatMap((each) => each?.port ?? []),
    readPage: (page, signal) => pageOf(machine.ask, { address: addresses.metrics, page }, signal),
    requestJson: requestJson({
      kubeconfig,
      env,
      commands: kernel.commands,
      clock: machine.clock,
      withoutCluster: fromFiles
        ? "the objects come from files, not from an apiserver"
        : withoutCluster,
      signal,
    }),
    clock: machine.clock,
  };
}

const pageTimeoutMs = 2_000;

async function pageOf(
  ask: AskPage,
  { address, page }: { readonly address: ListenAddress | undefined; readonly page: string },
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!address) return undefined;
  const answer = await ask({ address, path: page, timeoutMs: pageTimeoutMs }, signal);
  return answer.kind === "page" && answer.status === 200 ? answer.body : undefined;
}
