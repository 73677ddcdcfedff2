/**
 * What has changed since the last successful sync. A sync takes it, and then commits or gives it
 * back; what is given back comes again with the next take, together with what happened meanwhile.
 */
import type { ServicePortKey } from "../snapshot/snapshot.ts";

/** The changes one sync has to bring about. */
export interface TakenChanges {
  readonly services: ReadonlySet<ServicePortKey>;
  readonly settings: boolean;
  /** `namespace/name` of Services whose health check came, changed or went. */
  readonly healthChecks: ReadonlySet<string>;
  /** Endpoints of a UDP port changed: flows to endpoints that are gone must be cut. */
  readonly conntrackCleanup: boolean;
  /** When the causes of these changes happened, as the slices' writer noted it. */
  readonly triggerTimesMs: readonly number[];
}

/** Nothing is lost between `take` and `commit`: a second `take` without either acts as a restore. */
export class PendingChanges {
  #services = new Set<ServicePortKey>();
  #settings = false;
  #healthChecks = new Set<string>();
  #conntrackCleanup = false;
  #triggerTimesMs = new Map<object, number[]>();
  #taken: (TakenChanges & { readonly times: Map<object, number[]> }) | undefined;

  addService(key: ServicePortKey): void {
    this.#services.add(key);
  }

  addSettings(): void {
    this.#settings = true;
  }

  addHealthCheck(key: string): void {
    this.#healthChecks.add(key);
  }

  addConntrackCleanup(): void {
    this.#conntrackCleanup = true;
  }

  /** `cause` groups times that `dropTriggerTimes` forgets together. */
  addTriggerTime(cause: object, timeMs: number): void {
    const times = this.#triggerTimesMs.get(cause);
    if (times) times.push(timeMs);
    else this.#triggerTimesMs.set(cause, [timeMs]);
  }

  dropTriggerTimes(cause: object): void {
    this.#triggerTimesMs.delete(cause);
  }

  /** The times of causes that come `later`, and the end of flows that they bring about, stay for a later take. */
  take(later: ReadonlySet<object> = new Set()): TakenChanges {
    this.restore();
    const all = [...this.#triggerTimesMs];
    const times = new Map(all.filter(([cause]) => !later.has(cause)));
    const taken = {
      services: this.#services,
      settings: this.#settings,
      healthChecks: this.#healthChecks,
      conntrackCleanup: this.#conntrackCleanup,
      triggerTimesMs: [...times.values()].flat(),
      times,
    };
    this.#services = new Set();
    this.#settings = false;
    this.#healthChecks = new Set();
    this.#conntrackCleanup &&= later.size > 0;
    this.#triggerTimesMs = new Map(all.filter(([cause]) => later.has(cause)));
    this.#taken = taken;
    return taken;
  }

  /** The sync succeeded. What it left for the next one is pending again. */
  commit(unfinished: ReadonlySet<ServicePortKey> = new Set()): void {
    for (const key of unfinished) this.#services.add(key);
    // Flows to endpoints that are gone can be cut only when nothing leads to those any more.
    if (unfinished.size > 0) this.#conntrackCleanup ||= this.#taken?.conntrackCleanup ?? false;
    this.#taken = undefined;
  }

  /** The sync failed: what was taken is pending again. Without a take, nothing. */
  restore(): void {
    const taken = this.#taken;
    if (!taken) return;
    this.#taken = undefined;
    for (const key of taken.services) this.#services.add(key);
    this.#settings ||= taken.settings;
    for (const key of taken.healthChecks) this.#healthChecks.add(key);
    this.#conntrackCleanup ||= taken.conntrackCleanup;
    for (const [cause, times] of taken.times) {
      this.#triggerTimesMs.set(cause, [...times, ...this.#triggerTimesMs.get(cause) ?? []]);
    }
  }
}
