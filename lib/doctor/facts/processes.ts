/** The programs of this node's network namespace, and who of them is a proxy. */
import {
  networkNamespaceOf,
  readProcesses,
  socketOwners,
} from "../../kernel/inspection/processes.ts";
import type { KernelFiles } from "../../kernel/kernel_files.ts";
import type { FactReader } from "../fact.ts";
import { known, unknown } from "./known.ts";
import type { NodeProcess, NodeProcesses } from "./node_values.ts";

/** What the reader works with. */
export interface ProcessesOptions {
  readonly files: KernelFiles;
  readonly hostRoot: string;
  /** Ports of a proxy's pages. */
  readonly pagePorts: readonly number[];
}

/** Words that make it another command of this program than a proxy. */
const otherCommands = ["cleanup", "completion", "config", "doctor", "namespaces", "help"];

/** Reads them. */
export function processesReader(
  { files, hostRoot, pagePorts }: ProcessesOptions,
): FactReader<NodeProcesses> {
  return {
    read: async ({ facts }) => {
      const namespace = networkNamespaceOf(files, hostRoot === "" ? "thread-self" : "1");
      const all = readProcesses(files);
      const here = all.filter(({ networkNamespace }) =>
        namespace !== undefined && networkNamespace === namespace
      ).filter(({ argv }) => argv.length > 0);
      // Whoever asks runs in it: nobody is not the answer.
      if (here.length === 0) {
        return unknown("no process of this network can be seen", 'Set "hostPID: true" in the pod.');
      }
      const sockets = await facts.read("sockets");
      const listening = (sockets.kind === "value" ? sockets.value : [])
        .filter(({ isListening, port, protocol }) =>
          isListening && protocol === "tcp" && pagePorts.includes(port)
        );
      const owners = listening.length === 0
        ? new Map<string, number>()
        : socketOwners(files, new Set(listening.map(({ inode }) => inode)));
      return known({
        here,
        proxies: here.filter(isProxy),
        pageHolders: listening.map(({ inode, port }) => ({
          port,
          process: all.find(({ pid }) => pid === owners.get(inode)),
        })),
      });
    },
  };
}

/** `kube-proxy --config=…`, `kube-proxy run …`, `hyperkube kube-proxy …`. */
function isProxy({ argv: [program, ...words] }: NodeProcess): boolean {
  const name = program.slice(program.lastIndexOf("/") + 1);
  if (name === "hyperkube") return words[0] === "proxy" || words[0] === "kube-proxy";
  return name === "kube-proxy" && !otherCommands.includes(words[0] ?? "") &&
    !words.some((word) => /^--?(version|help|cleanup)\b/.test(word));
}
