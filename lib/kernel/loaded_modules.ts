/** Modules of the running kernel: which are loaded, and the removal of those that nobody uses any more. */
import { Errno } from "./errno.ts";
import { KernelFiles } from "./kernel_files.ts";
import { cString, lastErrno, libc } from "./libc.ts";

/** A loaded module. */
export interface LoadedModule {
  readonly name: string;
  /** By other modules and by whatever holds it. */
  readonly users: number;
}

/** The modules of this machine. */
export interface LoadedModules {
  /** The one that was loaded last comes first. Empty where the kernel has no modules at all. */
  loaded(): readonly LoadedModule[];
  /** Whether it is gone. False where somebody uses it, or where this process may not do that. */
  unload(name: string): boolean;
}

const O_NONBLOCK = 0x800;
/** `delete_module` by the name that the runtime has for the processor. */
const systemCalls: Readonly<Record<string, number>> = { x86_64: 176, aarch64: 106 };

/** The real ones. */
export class LinuxLoadedModules implements LoadedModules {
  readonly #files: KernelFiles;
  readonly #architecture: string;

  /** `architecture` as the runtime names it: `x86_64`, `aarch64`. */
  constructor(architecture: string, files: KernelFiles = new KernelFiles()) {
    this.#architecture = architecture;
    this.#files = files;
  }

  loaded(): readonly LoadedModule[] {
    return parseModules(this.#files.read("/proc/modules") ?? "");
  }

  unload(name: string): boolean {
    const call = systemCalls[this.#architecture];
    if (call === undefined) return false;
    return libc.syscall(BigInt(call), cString(name), BigInt(O_NONBLOCK)) === 0n ||
      lastErrno() === Errno.ENOENT;
  }
}

/**
 * `nft_numgen 16384 3 - Live 0x0000000000000000`: name, size, users, by whom, state, address. For
 * tests: other machines' lists.
 */
export function parseModules(text: string): readonly LoadedModule[] {
  return [...text.matchAll(/^(\w+) \d+ (\d+) /gm)].map(([, name, users]) => ({
    name,
    users: Number(users),
  }));
}
