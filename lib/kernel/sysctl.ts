/** Kernel settings below /proc/sys. */

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
