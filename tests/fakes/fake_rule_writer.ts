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
  /** While set, every sync fails like this, after half of the work. */
  failure: Error | undefined;
  /** Runs in the middle of a sync. */
  during: () => void | Promise<void> = () => {};
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

  drifted(): Promise<boolean> {
    if (this.#busy) return Promise.reject(new Error("two calls overlap"));
    return Promise.resolve(this.#drifted);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }

  #write(snapshot: Snapshot, changes: Changes): SyncReport {
    const all = new Set([...snapshot.services.keys(), ...this.rules.keys()]);
    const keys = changes.kind === "all" ? all : changes.services;
    let written = 0;
    for (const key of keys) {
      const port = snapshot.services.get(key);
      if (this.rules.get(key) === port) continue;
      written++;
      if (port) this.rules.set(key, port);
      else this.rules.delete(key);
    }
    if (changes.kind === "all") this.#drifted = false;
    const { notices } = this;
    this.notices = [];
    return { full: changes.kind === "all", written, notices };
  }
}
