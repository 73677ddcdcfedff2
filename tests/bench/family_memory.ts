/** The memory of a process together with that of the programs it starts, which end too soon to be asked later. */

const SAMPLE_EVERY_MS = 100;

/** Looks all the time, until it is disposed. */
export class FamilyMemory implements Disposable {
  readonly #pid: number;
  readonly #timer: number;
  #peakKb = 0;

  constructor(pid: number) {
    this.#pid = pid;
    this.#timer = setInterval(() => this.#look(), SAMPLE_EVERY_MS);
  }

  /** The most that all of them had at one time. */
  get peakMb(): number {
    this.#look();
    return this.#peakKb / 1024;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    this.#peakKb = Math.max(this.#peakKb, residentKb(this.#pid));
  }
}

/** Of the process and all below it. */
function residentKb(pid: number): number {
  try {
    const status = Deno.readTextFileSync(`/proc/${pid}/status`);
    const own = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0);
    return childrenOf(pid).reduce((sum, child) => sum + residentKb(child), own);
  } catch {
    // It ended while it was looked at.
    return 0;
  }
}

/** Each thread has those that it started. */
function childrenOf(pid: number): readonly number[] {
  return [...Deno.readDirSync(`/proc/${pid}/task`)].flatMap(({ name }) =>
    Deno.readTextFileSync(`/proc/${pid}/task/${name}/children`).split(" ")
      .filter((child) => child !== "").map(Number)
  );
}
