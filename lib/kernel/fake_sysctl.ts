import { type Sysctl, SysctlError, type SysctlFault } from "./sysctl.ts";

/** Settings in memory. Like the kernel it knows a fixed list and refuses to make new ones. */
export class FakeSysctl implements Sysctl {
  readonly #values: Map<string, string>;
  readonly #faults = new Map<string, SysctlFault>();

  constructor(values: Readonly<Record<string, string>> = {}) {
    this.#values = new Map(Object.entries(values));
  }

  /** From now on writing this setting fails like that; `"*"` is every setting. */
  failWrites(setting: string, fault: SysctlFault): void {
    this.#faults.set(setting, fault);
  }

  read(setting: string): string | undefined {
    return this.#values.get(setting);
  }

  write(setting: string, value: string): void {
    const fault = this.#faults.get(setting) ?? this.#faults.get("*") ??
      (this.#values.has(setting) ? undefined : "absent");
    if (fault) {
      throw new SysctlError(`Cannot set "${setting}" to "${value}": ${fault}`, { setting, fault });
    }
    this.#values.set(setting, value);
  }

  /** All settings, sorted by name. */
  values(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.#values].sort(([a], [b]) => a < b ? -1 : 1));
  }
}
