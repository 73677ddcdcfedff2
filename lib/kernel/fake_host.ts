import type { Host } from "./host.ts";
import { SysctlError } from "./sysctl.ts";

/** What a `FakeHost` is; everything has a sensible default. */
export interface FakeHostOptions {
  readonly onlineCpus?: number;
  readonly kernelRelease?: string;
  readonly ipv6Available?: boolean;
  readonly bootId?: string;
  readonly loadedModules?: readonly string[];
  readonly kernelBytes?: number;
  /** By `module.parameter`. */
  readonly moduleParameters?: Readonly<Record<string, string>>;
}

/** A machine in memory. */
export class FakeHost implements Host {
  readonly #options: FakeHostOptions;
  readonly #parameters: Map<string, string>;

  constructor(options: FakeHostOptions = {}) {
    this.#options = options;
    this.#parameters = new Map(Object.entries(options.moduleParameters ?? {}));
  }

  onlineCpus(): number {
    return this.#options.onlineCpus ?? 2;
  }

  kernelRelease(): string {
    return this.#options.kernelRelease ?? "6.12.0";
  }

  bootId(): string | undefined {
    return this.#options.bootId ?? "11111111-2222-3333-4444-555555555555";
  }

  ipv6Available(): boolean {
    return this.#options.ipv6Available ?? true;
  }

  kernelBytes(): number {
    return this.#options.kernelBytes ?? 0;
  }

  isModuleLoaded(module: string): boolean {
    return this.#options.loadedModules?.includes(module) ?? false;
  }

  moduleParameter(module: string, parameter: string): string | undefined {
    return this.#parameters.get(`${module}.${parameter}`);
  }

  setModuleParameter(module: string, parameter: string, value: string): void {
    const setting = `${module}.${parameter}`;
    if (!this.#parameters.has(setting)) {
      throw new SysctlError(`Cannot set "${setting}" to "${value}": no such file`, {
        setting,
        fault: "absent",
      });
    }
    this.#parameters.set(setting, value);
  }
}
