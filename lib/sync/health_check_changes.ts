import type { HealthCheck } from "../trackers/family_totals.ts";

/** Remembers which health checks were told last, to tell the next time only what differs. */
export class HealthCheckChanges {
  #told = new Map<string, HealthCheck>();

  /** What differs from the last call, by `namespace/name`; undefined for one that is gone. */
  since(current: ReadonlyMap<string, HealthCheck>): ReadonlyMap<string, HealthCheck | undefined> {
    const changed = new Map<string, HealthCheck | undefined>();
    for (const [key, check] of current) {
      const told = this.#told.get(key);
      if (told?.port !== check.port || told.localEndpoints !== check.localEndpoints) {
        changed.set(key, check);
      }
    }
    for (const key of this.#told.keys()) if (!current.has(key)) changed.set(key, undefined);
    for (const [key, check] of changed) {
      if (check) this.#told.set(key, check);
      else this.#told.delete(key);
    }
    return changed;
  }
}
