/** Facts of a node that is looked at from a pod: what is not mounted there is not taken for absent on the node. */
import type { KernelFiles } from "../../kernel/kernel_files.ts";
import type { FactReader } from "../fact.ts";
import { unknown } from "./known.ts";

/** Where the node's root is, and what of it a fact needs. */
interface NeededFolder {
  readonly files: Pick<KernelFiles, "isFolder">;
  /** Empty for this machine, which has all. */
  readonly hostRoot: string;
  /** One of `HostFolder`. */
  readonly folder: string;
}

/** The reader, where the folder is there; else the fact is unknown, with the line that gives it. */
export function needingFolder<T>(
  { files, folder, hostRoot }: NeededFolder,
  reader: FactReader<T>,
): FactReader<T> {
  if (hostRoot === "") return reader;
  return {
    ...reader,
    read: async (context) => {
      if (files.isFolder(folder)) return await reader.read(context);
      return unknown(
        `"${hostRoot}${folder}" is not there`,
        `Mount the node's root at "${hostRoot}" (a hostPath volume with path: /), and set ` +
          '"hostPID: true"; kubectl debug node does both.',
      );
    },
  };
}
