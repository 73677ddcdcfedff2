/**
 * Kernel settings below /proc/sys. Reads and writes are synchronous on purpose: an asynchronous file
 * operation runs on another thread, which may be in another network namespace.
 */

/** Why a setting could not be read or written. */
export type SysctlFault = "absent" | "read-only" | "refused" | "invalid";

/** A setting that could not be read or written; `message` is a whole sentence. */
export class SysctlError extends Error {
  override readonly name = "SysctlError";
  readonly setting: string;
  readonly fault: SysctlFault;

  constructor(message: string, options: SysctlErrorOptions) {
    super(message, { cause: options.cause });
    this.setting = options.setting;
    this.fault = options.fault;
  }
}

/** What `SysctlError` is made of. */
export interface SysctlErrorOptions {
  readonly setting: string;
  readonly fault: SysctlFault;
  readonly cause?: unknown;
}

/** Settings by their path with slashes: `net/netfilter/nf_conntrack_max`. */
export interface Sysctl {
  /** The value without the final newline, or undefined when this kernel has no such setting. */
  read(setting: string): string | undefined;
  /** Throws `SysctlError` when the setting is absent, not writable, or the kernel refuses the value. */
  write(setting: string, value: string): void;
}

/** Writes only what differs, so that a value which is right already may stand on a read-only /proc/sys. Returns whether it wrote. */
export function ensureSysctl(sysctl: Sysctl, setting: string, value: string): boolean {
  if (sysctl.read(setting) === value) return false;
  sysctl.write(setting, value);
  return true;
}

/** The real ones, of the network namespace of the calling thread. */
export class ProcSysctl implements Sysctl {
  read(setting: string): string | undefined {
    return readKernelFile(pathOf(setting), setting);
  }

  write(setting: string, value: string): void {
    writeKernelFile(pathOf(setting), setting, value);
  }
}

/** Reads a small file of /proc or /sys, without its final newline; undefined when there is none. */
export function readKernelFile(path: string, setting: string): string | undefined {
  try {
    return Deno.readTextFileSync(path).trimEnd();
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) return undefined;
    throw new SysctlError(`Cannot read "${setting}": ${causeOf(cause)}`, {
      setting,
      fault: faultOf(cause),
      cause,
    });
  }
}

/** Writes a small file of /proc or /sys that must exist already. */
export function writeKernelFile(path: string, setting: string, value: string): void {
  try {
    // These files can neither be created nor truncated.
    using file = Deno.openSync(path, { write: true });
    file.writeSync(new TextEncoder().encode(value));
  } catch (cause) {
    const fault = faultOf(cause);
    throw new SysctlError(
      `Cannot set "${setting}" to "${value}": ${causeOf(cause)}; ${hints[fault]}`,
      { setting, fault, cause },
    );
  }
}

function pathOf(setting: string): string {
  if (setting.split("/").includes("..")) {
    throw new RangeError(`Cannot use sysctl "${setting}": it leaves /proc/sys`);
  }
  return `/proc/sys/${setting}`;
}

const hints: Readonly<Record<SysctlFault, string>> = {
  absent: "load the kernel module it belongs to",
  "read-only": "set it on the node itself, or run once with write access to it",
  refused: "run as root in the node's own namespaces",
  invalid: "use a value that this kernel accepts",
};

function faultOf(cause: unknown): SysctlFault {
  if (cause instanceof Deno.errors.NotFound) return "absent";
  // EROFS has no class of its own.
  if (messageOf(cause).includes("(os error 30)")) return "read-only";
  if (cause instanceof Deno.errors.PermissionDenied) return "refused";
  return /\(os error (1|13)\)/.test(messageOf(cause)) ? "refused" : "invalid";
}

function causeOf(cause: unknown): string {
  // "Permission denied (os error 13): writefile '/proc/sys/x'": the path is said already.
  return messageOf(cause).replace(/(\(os error \d+\)).*$/s, "$1");
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
