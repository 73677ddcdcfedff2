import type { NetworkNamespace } from "./network_namespace.ts";
import type { ProcessUsage, Self } from "./self.ts";
import { SysctlError } from "./sysctl.ts";

/** What a `FakeSelf` is. */
export interface FakeSelfOptions {
  readonly hasNetAdmin?: boolean;
  readonly networkNamespace?: NetworkNamespace;
  readonly usage?: Partial<ProcessUsage>;
  /** How many attempts to set the OOM score the kernel refuses before it agrees. */
  readonly oomScoreRefusals?: number;
}

/** A process in memory. */
export class FakeSelf implements Self {
  readonly #options: FakeSelfOptions;
  #refusals: number;
  #oomScoreAdj = 0;
  #memoryReturned = 0;
  #garbageCollected = 0;
  /** What `heapBytes` says; a collection leaves half of it. */
  heap = 80 << 20;

  constructor(options: FakeSelfOptions = {}) {
    this.#options = options;
    this.#refusals = options.oomScoreRefusals ?? 0;
  }

  get oomScoreAdj(): number {
    return this.#oomScoreAdj;
  }

  /** How often free memory was given back. */
  get memoryReturned(): number {
    return this.#memoryReturned;
  }

  /** How often garbage was collected. */
  get garbageCollected(): number {
    return this.#garbageCollected;
  }

  hasNetAdmin(): boolean {
    return this.#options.hasNetAdmin ?? true;
  }

  networkNamespace(): NetworkNamespace {
    return this.#options.networkNamespace ?? { inode: 4026531840, cookie: "1" };
  }

  usage(): ProcessUsage {
    return {
      cpuSeconds: 1.5,
      residentBytes: 80 << 20,
      virtualBytes: 1 << 30,
      maxVirtualBytes: Infinity,
      receivedBytes: 4096,
      sentBytes: 2048,
      openFileDescriptors: 12,
      maxFileDescriptors: 1024,
      startTimeSeconds: 1_700_000_000,
      ...this.#options.usage,
    };
  }

  setOomScoreAdj(score: number): void {
    if (this.#refusals > 0) {
      this.#refusals--;
      throw new SysctlError(`Cannot set "oom_score_adj" to "${score}": permission denied`, {
        setting: "oom_score_adj",
        fault: "refused",
      });
    }
    if (!Number.isInteger(score) || score < -1000 || score > 1000) {
      throw new SysctlError(`Cannot set "oom_score_adj" to "${score}": invalid argument`, {
        setting: "oom_score_adj",
        fault: "invalid",
      });
    }
    this.#oomScoreAdj = score;
  }

  keepLittleFreeMemory(): void {}

  returnFreeMemory(): void {
    this.#memoryReturned++;
  }

  heapBytes(): number {
    return this.heap;
  }

  collectGarbage(): void {
    this.#garbageCollected++;
    this.heap /= 2;
  }
}
