/**
 * The state of one IP family: folds what the watchers say, and turns it into a snapshot whenever a
 * sync asks. Folding only notes which Services to look at again; `take` rebuilds those, so a burst of
 * changes costs one rebuild, and a change that was undone meanwhile costs nothing further.
 */
import { deepEqual } from "../base/deep_equal.ts";
import type { IpFamily } from "../base/ip_family.ts";
import type { WatchBatch } from "../kube/object_batch.ts";
import type { EndpointSlice, Service } from "../kube/objects.ts";
import type { NodeContext } from "../snapshot/build_service_port.ts";
import type {
  FamilySettings,
  ServicePort,
  ServicePortKey,
  Snapshot,
} from "../snapshot/snapshot.ts";
import { Claims } from "./claims.ts";
import { countLocalReady } from "./collect_candidates.ts";
import { EndpointSliceTracker } from "./endpoint_slice_tracker.ts";
import { type FamilyCounts, FamilyTotals, type HealthCheck } from "./family_totals.ts";
import { NoticeBook, type TrackerNotice } from "./notice_book.ts";
import { PendingChanges } from "./pending_changes.ts";
import { ServiceEntries } from "./service_entries.ts";
import type { ServiceEntry } from "./service_entry.ts";
import { ServiceTracker } from "./service_tracker.ts";

/** What a family starts with. */
export interface FamilyStateOptions {
  readonly family: IpFamily;
  readonly node: NodeContext;
  readonly settings: FamilySettings;
  /** Trigger times from before this moment are of no interest. */
  readonly startedMs: number;
  /** True when absent. */
  readonly allowExternalIPs?: boolean;
  /** Shared by the families, so that what holds for both is said once. */
  readonly notices?: NoticeBook;
}

/** A snapshot, and what in it differs from the last committed one. `changes` is as writers want it. */
export interface Taken {
  readonly snapshot: Snapshot;
  readonly changes: {
    readonly kind: "some";
    readonly services: ReadonlySet<ServicePortKey>;
    readonly settings: boolean;
  };
  /** Health checks that came, changed or (undefined) went, by `namespace/name`. */
  readonly healthChecks: ReadonlyMap<string, HealthCheck | undefined>;
  /** Endpoints of a UDP port changed: flows to endpoints that are gone must be cut. */
  readonly conntrackCleanup: boolean;
  /** When the causes of the changes happened, as the slices' writer noted it. */
  readonly triggerTimesMs: readonly number[];
  /** There was more than one sync should bring: the next `take` has the rest. */
  readonly hasMore: boolean;
}

/** How many events there were, and how many changes wait for a sync, as metrics want them. */
export interface FamilyEvents {
  readonly serviceChangesTotal: number;
  readonly endpointChangesTotal: number;
  readonly serviceChangesPending: number;
  readonly endpointChangesPending: number;
}

/** One writer's view of the cluster. What is read from it is of the state last taken. */
export class FamilyState {
  readonly family: IpFamily;
  readonly #entries = new ServiceEntries();
  readonly #claims: Claims;
  readonly #serviceTracker: ServiceTracker;
  readonly #sliceTracker: EndpointSliceTracker;
  readonly #pending = new PendingChanges();
  readonly #services = new Map<ServicePortKey, ServicePort>();
  readonly #totals = new FamilyTotals();
  /** Services whose local endpoints a load balancer asks for, by `namespace/name`. */
  readonly #healthChecks = new Map<string, HealthCheck>();
  readonly #hinted = new Set<ServiceEntry>();
  readonly #ranged = new Set<ServiceEntry>();
  readonly #notices: NoticeBook;
  #optedOut: ReadonlySet<string> = new Set();
  #node: NodeContext;
  #settings: FamilySettings;
  #onChange: () => void = () => {};

  constructor(options: FamilyStateOptions) {
    const { family, startedMs } = options;
    this.family = family;
    this.#node = options.node;
    this.#settings = options.settings;
    const book = options.notices ?? new NoticeBook();
    this.#notices = book;
    this.#claims = new Claims(book);
    const shared = {
      family,
      entries: this.#entries,
      notice: book.add.bind(book),
      forget: book.forget.bind(book),
    };
    const allowExternalIPs = options.allowExternalIPs ?? true;
    this.#serviceTracker = new ServiceTracker({
      ...shared,
      allowExternalIPs,
      claims: this.#claims,
    });
    this.#sliceTracker = new EndpointSliceTracker({ ...shared, startedMs, pending: this.#pending });
  }

  /** The one who syncs this family; told by `changed`, from now on. */
  onChange(listener: () => void): void {
    this.#onChange = listener;
  }

  /** Tells that there may be something to sync that was not before: once for a batch, by whoever applied it. */
  changed(): void {
    this.#onChange();
  }

  /** True when there may be something to sync that was not before. */
  applyServices(batch: WatchBatch<Service>): boolean {
    return this.#serviceTracker.apply(batch, this.#optedOut);
  }

  /** True when there may be something to sync that was not before. */
  applyEndpointSlices(batch: WatchBatch<EndpointSlice>): boolean {
    return this.#sliceTracker.apply(batch, this.#optedOut);
  }

  /** A new zone touches Services with hints, a new address those with source ranges, a new name all. */
  setNode(node: NodeContext): boolean {
    const before = this.#node;
    if (before.name === node.name && before.zone === node.zone && sameBytes(before.ip, node.ip)) {
      return false;
    }
    this.#node = node;
    if (before.name !== node.name) this.#markDirty(this.#entries.values());
    if (before.zone !== node.zone) this.#markDirty(this.#hinted);
    if (!sameBytes(before.ip, node.ip)) this.#markDirty(this.#ranged);
    return true;
  }

  setSettings(settings: FamilySettings): boolean {
    if (deepEqual(this.#settings, settings)) return false;
    this.#settings = settings;
    this.#pending.addSettings();
    return true;
  }

  /**
   * From now on nothing of these namespaces is kept. One that leaves the set is empty until a source
   * says again what it holds: a `replace` of that namespace.
   */
  setOptedOut(namespaces: ReadonlySet<string>): boolean {
    const added = [...namespaces].filter((namespace) => !this.#optedOut.has(namespace));
    this.#optedOut = namespaces;
    let changed = false;
    for (const namespace of added) {
      const services = this.#serviceTracker.dropNamespace(namespace);
      const slices = this.#sliceTracker.dropNamespace(namespace);
      changed = services || slices || changed;
    }
    return changed;
  }

  /**
   * The desired state now. Its map is this state's own and changes with the next `take` alone.
   * Follow with `commit` or `restore`; a `take` without either restores first.
   */
  take(): Taken {
    this.#serviceTracker.settleClaims();
    this.#sliceTracker.settle();
    this.#rebuildDirty();
    const { waiting } = this.#entries;
    const { services, settings, healthChecks, conntrackCleanup, triggerTimesMs } = this.#pending
      .take(waiting);
    return {
      snapshot: { family: this.family, settings: this.#settings, services: this.#services },
      changes: { kind: "some", services, settings },
      healthChecks: new Map([...healthChecks].map((key) => [key, this.#healthChecks.get(key)])),
      conntrackCleanup,
      triggerTimesMs,
      hasMore: waiting.size > 0,
    };
  }

  /** What was taken is in force, but for what was left for the next sync. */
  commit(unfinished?: ReadonlySet<ServicePortKey>): void {
    this.#pending.commit(unfinished);
  }

  /** What was taken is not, or not wholly, in force: the next `take` returns it again. */
  restore(): void {
    this.#pending.restore();
  }

  get settings(): FamilySettings {
    return this.#settings;
  }

  get counts(): FamilyCounts {
    return this.#totals.counts;
  }

  get events(): FamilyEvents {
    return {
      serviceChangesTotal: this.#serviceTracker.changesTotal,
      endpointChangesTotal: this.#sliceTracker.changesTotal,
      serviceChangesPending: this.#serviceTracker.changesPending,
      endpointChangesPending: this.#sliceTracker.changesPending,
    };
  }

  /** What an operator should read, since anybody asked last. */
  takeNotices(): readonly TrackerNotice[] {
    return this.#notices.take();
  }

  get udpPorts(): ReadonlyMap<ServicePortKey, ServicePort> {
    return this.#totals.udpPorts;
  }

  #markDirty(entries: Iterable<ServiceEntry>): void {
    for (const entry of entries) this.#entries.markDirty(entry);
  }

  #rebuildDirty(): void {
    const { giants, whole } = this.#entries.takeDirty();
    this.#rebuildAll(whole);
    for (const { entry, most } of giants) {
      this.#rebuild(entry, () => entry.rebuildPart(most, this.#claims, this.#node));
      if (entry.isStale) this.#entries.goOnWith(entry);
    }
  }

  /** Nothing follows the loop: see what keeps a change cheap (lib/README.md). */
  #rebuildAll(entries: readonly ServiceEntry[]): void {
    for (const entry of entries) {
      this.#rebuild(entry, () => entry.rebuild(this.#claims, this.#node));
    }
  }

  #rebuild(entry: ServiceEntry, rebuild: () => void): void {
    const before = entry.built;
    rebuild();
    const after = new Set(entry.built.map(({ key }) => key));
    for (const port of before) if (!after.has(port.key)) this.#setPort(port.key, undefined);
    for (const port of entry.built) this.#setPort(port.key, port);
    keepIn(this.#hinted, entry, entry.record !== undefined && entry.hinted);
    keepIn(this.#ranged, entry, (entry.record?.spec.sourceRanges.length ?? 0) > 0);
    this.#setHealthCheck(entry);
    this.#entries.dropIfEmpty(entry);
  }

  #setPort(key: ServicePortKey, after: ServicePort | undefined): void {
    const before = this.#services.get(key);
    if (before === after) return;
    if (after) this.#services.set(key, after);
    else this.#services.delete(key);
    this.#totals.changed(before, after);
    this.#pending.addService(key);
  }

  #setHealthCheck({ namespace, name, record, slices }: ServiceEntry): void {
    const key = `${namespace}/${name}`;
    const port = record?.spec.healthCheckNodePort ?? 0;
    if (port === 0 || record?.ports.length === 0) {
      if (this.#healthChecks.delete(key)) this.#pending.addHealthCheck(key);
      return;
    }
    const localEndpoints = countLocalReady(slices, this.#node.name);
    const known = this.#healthChecks.get(key);
    if (known?.port === port && known.localEndpoints === localEndpoints) return;
    this.#healthChecks.set(key, { namespace, name, port, localEndpoints });
    this.#pending.addHealthCheck(key);
  }
}

function keepIn<T>(set: Set<T>, value: T, wanted: boolean): void {
  if (wanted) set.add(value);
  else set.delete(value);
}

function sameBytes(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  if (!a || !b) return a === b;
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
