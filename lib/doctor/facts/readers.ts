/** How every fact of the node is read, in one list. */
import type { Clock } from "../../base/clock.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { HostFolder, KernelFiles } from "../../kernel/kernel_files.ts";
import type { FactReader } from "../fact.ts";
import { clusterReaders, type RequestJson } from "./cluster_reading.ts";
import type { ClusterValues } from "./cluster_values.ts";
import { configurationReader } from "./configuration.ts";
import { expressionsReader } from "./expressions.ts";
import { firewallReader } from "./firewall.ts";
import { cniReader, hostFilesReader } from "./host_files.ts";
import { needingFolder } from "./host_root.ts";
import { ipsetsReader, ipvsReader } from "./ipvs.ts";
import { kernelLogReader } from "./kernel_log.ts";
import { kernelVersionReader } from "./kernel_version.ts";
import { modulesReader } from "./modules.ts";
import { networkReader, socketsReader } from "./network.ts";
import type { NodeValues } from "./node_values.ts";
import { processesReader } from "./processes.ts";
import { invalidDropsReader, proxyMetricsReader, type ReadPage } from "./proxy_metrics.ts";
import { rightsReader } from "./rights.ts";
import { settingFilesReader, settingsReader } from "./settings.ts";
import { iptablesToolReader, nftToolReader } from "./tools.ts";

/** What the readers work with. */
export interface NodeReadersOptions {
  readonly clock: Pick<Clock, "sleep">;
  readonly kernel: Kernel;
  /** A folder with the node's own root; empty for this machine. */
  readonly hostRoot: string;
  /** Whether the kernel may be asked in ways that can make it load modules. */
  readonly mayProbe: boolean;
  /** What `--config` names. */
  readonly configPaths: readonly string[];
  /** Ports at which a proxy serves its pages: 10249 and 10256, or those of its configuration. */
  readonly pagePorts: readonly number[];
  /** A page of the proxy that runs here. */
  readonly readPage: ReadPage;
  readonly requestJson: RequestJson;
}

type Values = NodeValues & ClusterValues;

/** Nothing is read before somebody asks. */
export function nodeReaders(
  options: NodeReadersOptions,
): { readonly [N in keyof Values]: FactReader<Values[N]> } {
  const { clock, configPaths, hostRoot, kernel, mayProbe, pagePorts, readPage, requestJson } =
    options;
  const { commands, host, ipvs, links, self, sysctl } = kernel;
  const files = new KernelFiles(hostRoot);
  const tools = { commands, hostRoot };
  const below = <T>(folder: string, reader: FactReader<T>) =>
    needingFolder({ files, folder, hostRoot }, reader);
  return {
    kernel: kernelVersionReader(host),
    modules: below(HostFolder.processes, modulesReader(files)),
    expressions: expressionsReader({ nftables: () => kernel.nftables(), mayProbe }),
    nftTool: below(HostFolder.programs, nftToolReader(tools)),
    iptablesTool: below(HostFolder.programs, iptablesToolReader(tools)),
    kernelLog: kernelLogReader(),
    rights: rightsReader({ self, files }),
    settings: settingsReader({ sysctl, hostRoot }),
    settingFiles: below(HostFolder.configuration, settingFilesReader(files)),
    network: networkReader({ links, hostRoot }),
    sockets: below(HostFolder.firstProcess, socketsReader(files)),
    firewall: firewallReader({ hostRoot }),
    ipvs: below(HostFolder.firstProcess, ipvsReader({ files, hostRoot, ipvs })),
    ipsets: ipsetsReader({ ipset: kernel.ipset, hostRoot }),
    processes: below(HostFolder.firstProcess, processesReader({ files, hostRoot, pagePorts })),
    cni: below(HostFolder.configuration, cniReader(files)),
    hostFiles: below(HostFolder.configuration, hostFilesReader(files)),
    proxyMetrics: proxyMetricsReader(readPage),
    invalidDrops: invalidDropsReader({ readPage, clock }),
    configuration: configurationReader({ paths: configPaths, requestJson }),
    ...clusterReaders(requestJson),
  };
}
