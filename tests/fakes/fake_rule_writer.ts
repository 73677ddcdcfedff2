import type { IpFamily } from "../../lib/base/ip_family.ts";
import type { ServicePort, Snapshot } from "../../lib/snapshot/snapshot.ts";
import type { Changes, Notice, RuleWriter, SyncReport } from "../../lib/writers/writer.ts";

/**
 * A writer into a map. Like a real one it trusts `changes`, unless it is asked to compare all: what is
 * not among them stays as it was.
 */
export class FakeRuleWriter implements RuleWriter {
  readonly family: IpFamily;
  /** What the kernel would hold. */
  readonly rules = new Map<string, ServicePort>();
  /** The changes of each call, in order. */
  readonly calls: Changes[] = [];
  /** Notices of the next report. */
  notices: readonly Notice[] = [];
  /** What the next sync leaves for the one after, of its changes. */
  unfinished: ReadonlySet<string> = new Set();
  /** While set, every sync fails like this, after half of the work. */
  failure: Error | undefined;
  /** Runs in the middle of a sync. */
  during: () => void | Promise<void> = () => {};
  /** Runs in the middle of a look for foreign changes. */
  duringLook: (signal: AbortSignal) => void | Promise<void> = () => {};
  /** How often the writer was asked to do its own work. */
  maintained = 0;
  /** While set, that work fails like this. */
  maintenanceFailure: Error | undefined;
  #drifted = false;
  #busy = false;

  constructor(family: IpFamily) {
    this.family = family;
  }

  /** Somebody else removes the rules of this service port. */
  tamper(key: string): void {
    this.rules.delete(key);
    this.#drifted = true;
  }

  async sync(snapshot: Snapshot, changes: Changes): Promise<SyncReport> {
    if (this.#busy) throw new Error("two calls overlap");
    this.#busy = true;
    try {
      this.calls.push(changes);
      await this.during();
      if (this.failure) throw this.failure;
      return this.#write(snapshot, changes);
    } finally {
      this.#busy = false;
    }
  }

  async drifted(signal: AbortSignal): Promise<boolean> {
    if (this.#busy) throw new Error("two calls overlap");
    this.#busy = true;
    try {
      await this.duringLook(signal);
      return this.#drifted;
    } finally {
      this.#busy = false;
    }
  }

  maintain(): Promise<void> {
    if (this.#busy) throw new Error("two calls overlap");
    this.maintained++;
    return this.maintenanceFailure ? Promise.reject(this.maintenanceFailure) : Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }

  #write(snapshot: Snapshot, changes: Changes): SyncReport {
    const all = new Set([...snapshot.services.keys(), ...this.rules.keys()]);
    const keys = changes.kind === "all" ? all : changes.services;
    let written = 0;
    const unfinished = changes.kind === "some" ? this.unfinished : new Set<string>();
    this.unfinished = new Set();
    for (const key of keys) {
      if (unfinished.has(key)) continue;
      const port = snapshot.services.get(key);
      if (this.rules.get(key) === port) continue;
      written++;
      if (port) this.rules.set(key, port);
      else this.rules.delete(key);
    }
    if (changes.kind === "all") this.#drifted = false;
    const { notices } = this;
    this.notices = [];
    const report = { full: changes.kind === "all", written, notices };
    return unfinished.size > 0 ? { ...report, unfinished } : report;
  }
}
