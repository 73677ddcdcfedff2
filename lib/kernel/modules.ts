/** Modules of the kernel that the program cannot do without. */
import { CommandError, type Commands } from "./commands.ts";

/** A module that is not there; `message` is a whole sentence with the way out. */
export class KernelModuleError extends Error {
  override readonly name = "KernelModuleError";
  readonly module: string;

  /** `what` is what needs it, as in "use IPVS". */
  constructor(what: string, { module, cause }: KernelModuleErrorOptions) {
    super(
      `Cannot ${what}: the kernel module "${module}" is not loaded${reasonOf(cause)}; ` +
        `run "modprobe ${module}" on the node, or install the kernel's modules there`,
    );
    this.module = module;
  }
}

/** What `KernelModuleError` is made of. */
export interface KernelModuleErrorOptions {
  readonly module: string;
  /** Why loading it failed, where that was tried. */
  readonly cause?: string;
}

/** Runs `modprobe`. Throws `KernelModuleError` with its last words. */
export async function loadModule(
  commands: Commands,
  { module, what }: { readonly module: string; readonly what: string },
): Promise<void> {
  const argv = ["modprobe", module];
  let cause: string;
  try {
    const { exitCode, stderr } = await commands.run(argv);
    if (exitCode === 0) return;
    cause = stderr.trim().split("\n").at(-1) || `modprobe ended with exit code ${exitCode}`;
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    cause = commands.lookPath("modprobe") === undefined
      ? "modprobe is not installed here"
      : error.message;
  }
  throw new KernelModuleError(what, { module, cause });
}

function reasonOf(cause: string | undefined): string {
  if (cause === undefined) return "";
  return ` (${cause})`;
}
