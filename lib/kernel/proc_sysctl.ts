import { KernelFiles } from "./kernel_files.ts";
import type { Sysctl } from "./sysctl.ts";

/**
 * The real settings. Those below `net` are always the ones of the calling thread's network namespace,
 * also where the files are another machine's: there a thread of that machine's namespace has to ask.
 */
export class ProcSysctl implements Sysctl {
  readonly #files: KernelFiles;

  constructor(files: KernelFiles = new KernelFiles()) {
    this.#files = files;
  }

  read(setting: string): string | undefined {
    return this.#files.read(pathOf(setting), setting);
  }

  write(setting: string, value: string): void {
    this.#files.write(pathOf(setting), setting, value);
  }
}

function pathOf(setting: string): string {
  if (setting.split("/").includes("..")) {
    throw new RangeError(`Cannot use sysctl "${setting}": it leaves /proc/sys`);
  }
  return `/proc/sys/${setting}`;
}
