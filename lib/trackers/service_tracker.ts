import { deepEqual } from "../base/deep_equal.ts";
import type { WatchBatch } from "../kube/object_batch.ts";
import type { Service } from "../kube/objects.ts";
import type { Claims } from "./claims.ts";
import { foldBatch } from "./fold_batch.ts";
import type { ServiceEntries } from "./service_entries.ts";
import type { ServiceEntry } from "./service_entry.ts";
import {
  readServiceRecord,
  type RecordOptions,
  type ServiceRecord,
  serviceSubject,
} from "./service_record.ts";

/** What the tracker writes into and speaks through. */
export interface ServiceTrackerOptions extends RecordOptions {
  readonly entries: ServiceEntries;
  readonly claims: Claims;
  /** A Service is gone: what was said about it may be said again. */
  readonly forget: (subject: string) => void;
}

/** Folds Services into the entries' records, for one family. A change that is undone leaves no trace. */
export class ServiceTracker {
  readonly #options: ServiceTrackerOptions;
  /** Services that changed since the claims were last settled, with the record these know. */
  readonly #unsettled = new Map<ServiceEntry, ServiceRecord | undefined>();
  #changesTotal = 0;

  constructor(options: ServiceTrackerOptions) {
    this.#options = options;
  }

  /** Services of a namespace in `ignored` are not let in. True when a record changed. */
  apply(batch: WatchBatch<Service>, ignored: ReadonlySet<string>): boolean {
    return foldBatch(batch, {
      upsert: (service) => {
        if (ignored.has(service.namespace)) return false;
        this.#changesTotal++;
        const record = readServiceRecord(service, this.#options);
        return this.#setRecord(service.namespace, service.name, record);
      },
      remove: (namespace, name) => {
        this.#changesTotal++;
        return this.#remove(namespace, name);
      },
      held: (namespace) => [...this.#options.entries.values(namespace)].filter(hasRecord),
    });
  }

  /** Forgets all Services of the namespace. */
  dropNamespace(namespace: string): boolean {
    const held = [...this.#options.entries.values(namespace)].filter(hasRecord);
    for (const { name } of held) this.#remove(namespace, name);
    return held.length > 0;
  }

  /** Tells the claims what changed and marks every Service dirty that this touches. */
  settleClaims(): void {
    const { claims, entries } = this.#options;
    for (const [entry, before] of this.#unsettled) {
      claims.replace(before, entry.record);
      entries.markDirty(entry);
    }
    this.#unsettled.clear();
    for (const { namespace, name } of claims.takeAffected()) {
      const entry = entries.find(namespace, name);
      if (entry) entries.markDirty(entry);
    }
  }

  /** Every Service that was said to have come, changed or gone, effective or not. */
  get changesTotal(): number {
    return this.#changesTotal;
  }

  /** Services that differ from what the last settling saw. */
  get changesPending(): number {
    return this.#unsettled.size;
  }

  #remove(namespace: string, name: string): boolean {
    this.#options.forget(serviceSubject(namespace, name));
    return this.#setRecord(namespace, name, undefined);
  }

  #setRecord(namespace: string, name: string, record: ServiceRecord | undefined): boolean {
    const known = this.#options.entries.find(namespace, name);
    if (deepEqual(known?.record, record)) return false;
    const entry = known ?? this.#options.entries.obtain(namespace, name);
    if (!this.#unsettled.has(entry)) {
      this.#unsettled.set(entry, entry.record);
      entry.record = record;
      return true;
    }
    const settled = this.#unsettled.get(entry);
    const undone = deepEqual(settled, record);
    entry.record = undone ? settled : record;
    if (undone) {
      this.#unsettled.delete(entry);
      // An entry that held nothing before has to be dropped again.
      this.#options.entries.markDirty(entry);
    }
    return true;
  }
}

function hasRecord(entry: ServiceEntry): boolean {
  return entry.record !== undefined;
}
