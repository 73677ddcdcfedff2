/** Facts about the machine and its kernel that do not belong to one network namespace's settings. */
import { KernelFiles } from "./kernel_files.ts";

/** What the machine is. Reads are cheap and current. */
export interface Host {
  /** CPUs that are online in the machine, whatever this process may use of them. At least 1. */
  onlineCpus(): number;
  /** As `uname -r` prints it. */
  kernelRelease(): string;
  /** Another one each time the machine is started; undefined where /proc does not tell. */
  bootId(): string | undefined;
  /** Whether this network namespace has IPv6 at all and does not have it switched off everywhere. */
  ipv6Available(): boolean;
  /** What the kernel keeps for itself and cannot give back at once, by its own account. */
  kernelBytes(): number;
  /** False where it is not loaded, and where it is part of the kernel's own image. */
  isModuleLoaded(module: string): boolean;
  /** Undefined when the module is not there or has no such parameter. */
  moduleParameter(module: string, parameter: string): string | undefined;
  /** Throws `SysctlError` when the parameter is absent or not writable. */
  setModuleParameter(module: string, parameter: string, value: string): void;
}

/** The real one, read from /proc and /sys. */
export class LinuxHost implements Host {
  readonly #files: KernelFiles;

  constructor(files: KernelFiles = new KernelFiles()) {
    this.#files = files;
  }

  onlineCpus(): number {
    const list = this.#files.read("/sys/devices/system/cpu/online", "online CPUs");
    return (list && countCpuList(list)) || navigator.hardwareConcurrency || 1;
  }

  kernelRelease(): string {
    return this.#files.read("/proc/sys/kernel/osrelease", "kernel/osrelease") ?? Deno.osRelease();
  }

  bootId(): string | undefined {
    return this.#files.read("/proc/sys/kernel/random/boot_id", "kernel/random/boot_id");
  }

  ipv6Available(): boolean {
    // The file is empty but there where no interface has an IPv6 address, and absent without IPv6.
    const interfaces = this.#files.readNet("if_inet6");
    if (interfaces === undefined) return false;
    const setting = "net/ipv6/conf/all/disable_ipv6";
    return this.#files.read(`/proc/sys/${setting}`, setting) !== "1";
  }

  kernelBytes(): number {
    return countKernelBytes(this.#files.read("/proc/meminfo") ?? "");
  }

  isModuleLoaded(module: string): boolean {
    return this.#files.read(`/sys/module/${module}/refcnt`) !== undefined;
  }

  moduleParameter(module: string, parameter: string): string | undefined {
    return this.#files.read(parameterPath(module, parameter), `${module}.${parameter}`);
  }

  setModuleParameter(module: string, parameter: string, value: string): void {
    this.#files.write(parameterPath(module, parameter), `${module}.${parameter}`, value);
  }
}

/** Counts a kernel CPU list such as `0-3,8,10-11`; 0 when it is none. For tests: other machines' lists. */
export function countCpuList(list: string): number {
  let count = 0;
  for (const range of list.trim().split(",")) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(range);
    if (!match) return 0;
    const first = Number(match[1]);
    const last = match[2] === undefined ? first : Number(match[2]);
    if (last < first) return 0;
    count += last - first + 1;
  }
  return count;
}

/** `SUnreclaim:   87364 kB` and its like in bytes. For tests: other machines' files. */
export function countKernelBytes(meminfo: string): number {
  const lines = meminfo.matchAll(/^(?:SUnreclaim|VmallocUsed|Percpu):\s*(\d+) kB$/gm);
  return lines.reduce((total, [, kilobytes]) => total + Number(kilobytes) * 1024, 0);
}

function parameterPath(module: string, parameter: string): string {
  return `/sys/module/${module}/parameters/${parameter}`;
}
