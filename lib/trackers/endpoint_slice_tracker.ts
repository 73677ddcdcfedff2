import { deepEqual } from "../base/deep_equal.ts";
import type { IpFamily } from "../base/ip_family.ts";
import type { WatchBatch } from "../kube/object_batch.ts";
import type { EndpointSlice } from "../kube/objects.ts";
import { foldBatch } from "./fold_batch.ts";
import { NamespacedMap } from "./namespaced_map.ts";
import type { TrackerNotice } from "./notice_book.ts";
import type { PendingChanges } from "./pending_changes.ts";
import type { ServiceEntries } from "./service_entries.ts";
import type { ServiceEntry } from "./service_entry.ts";
import { sliceSubject, usableSlice } from "./usable_slice.ts";

/** What the tracker writes into and speaks through. */
export interface EndpointSliceTrackerOptions {
  readonly family: IpFamily;
  readonly entries: ServiceEntries;
  readonly pending: PendingChanges;
  /** Trigger times from before this moment are of no interest. */
  readonly startedMs: number;
  readonly notice: (notice: TrackerNotice) => void;
  /** A slice is gone: what was said about it may be said again. */
  readonly forget: (subject: string) => void;
}

/**
 * Folds the EndpointSlices of one family into the entries of their Services. A slice that changes its
 * Service or its family leaves where it was.
 */
export class EndpointSliceTracker {
  readonly #options: EndpointSliceTrackerOptions;
  readonly #slices = new NamespacedMap<EndpointSlice>();
  #changesTotal = 0;
  #changesPending = 0;

  constructor(options: EndpointSliceTrackerOptions) {
    this.#options = options;
  }

  /** Slices of a namespace in `ignored` are not let in. True when some slice's content changed. */
  apply(batch: WatchBatch<EndpointSlice>, ignored: ReadonlySet<string>): boolean {
    return foldBatch(batch, {
      upsert: (slice) => !ignored.has(slice.namespace) && this.#upsert(slice),
      remove: (namespace, name) => {
        if (this.#slices.get(namespace, name)) this.#changesTotal++;
        return this.#remove(namespace, name);
      },
      held: (namespace) => this.#slices.values(namespace),
    });
  }

  /** Forgets all slices of the namespace. */
  dropNamespace(namespace: string): boolean {
    const held = [...this.#slices.values(namespace)];
    for (const { name } of held) this.#remove(namespace, name);
    return held.length > 0;
  }

  /** The pending changes are in the hands of a sync. */
  settle(): void {
    this.#changesPending = 0;
  }

  /** Every slice of the family that was said to have come, changed or gone, effective or not. */
  get changesTotal(): number {
    return this.#changesTotal;
  }

  /** Effective changes since the last settling. */
  get changesPending(): number {
    return this.#changesPending;
  }

  #upsert(offered: EndpointSlice): boolean {
    const { namespace, name, serviceName } = offered;
    if (!this.#isOurs(offered)) return this.#remove(namespace, name);
    this.#changesTotal++;
    const slice = usableSlice(offered, this.#options);
    const before = this.#slices.get(namespace, name);
    if (before && sameContent(before, slice)) return false;
    if (before && before.serviceName !== serviceName) this.#detach(before);
    this.#slices.set(namespace, name, slice);
    const entry = this.#options.entries.obtain(namespace, serviceName);
    entry.putSlice(slice);
    this.#noteChange(entry, hasUdp(slice) || (before !== undefined && hasUdp(before)));
    if (slice.triggerTimeMs > this.#options.startedMs) {
      this.#options.pending.addTriggerTime(entry, slice.triggerTimeMs);
    }
    return true;
  }

  #isOurs(slice: EndpointSlice): boolean {
    const { namespace, name, serviceName, addressType, otherProxy } = slice;
    return addressType === this.#options.family && serviceName !== "" && namespace !== "" &&
      name !== "" && !otherProxy;
  }

  #remove(namespace: string, name: string): boolean {
    const slice = this.#slices.get(namespace, name);
    if (!slice) return false;
    this.#options.forget(sliceSubject(namespace, name));
    this.#slices.delete(namespace, name);
    this.#detach(slice);
    return true;
  }

  #detach(slice: EndpointSlice): void {
    const entry = this.#options.entries.obtain(slice.namespace, slice.serviceName);
    entry.removeSlice(slice.name);
    // The time noted on a slice that goes is that of its last change, not of its going.
    this.#options.pending.dropTriggerTimes(entry);
    this.#noteChange(entry, hasUdp(slice));
  }

  #noteChange(entry: ServiceEntry, udp: boolean): void {
    this.#changesPending++;
    this.#options.entries.markEndpointsDirty(entry);
    if (udp) this.#options.pending.addConntrackCleanup();
  }
}

function hasUdp(slice: EndpointSlice): boolean {
  return slice.ports.some(({ protocol }) => protocol === "UDP");
}

function sameContent(a: EndpointSlice, b: EndpointSlice): boolean {
  return a.serviceName === b.serviceName && deepEqual(a.ports, b.ports) &&
    deepEqual(a.endpoints, b.endpoints);
}
