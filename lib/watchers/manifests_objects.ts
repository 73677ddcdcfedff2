import type { ObjectChange } from "../kube/object_batch.ts";
import type {
  ApiObject,
  EndpointSlice,
  Namespace,
  Node,
  Service,
  ServiceCIDR,
} from "../kube/objects.ts";
import { Broadcast } from "./broadcast.ts";
import { LeftOut, whyLeftOut } from "./left_out.ts";
import type { ManifestObject } from "./manifests_decode.ts";
import { MergedObjects } from "./merged_objects.ts";
import type { Watcher } from "./watcher.ts";

/** How the objects are shown. */
export interface ManifestObjectsOptions {
  /** Leave out what opted-out namespaces hold. */
  readonly namespaceOptOut: boolean;
  readonly onNotice: (message: string) => void;
}

/**
 * The objects of all files, shown as an apiserver would show them to a proxy: without those of other
 * proxies and, where that is on, without those of opted-out namespaces.
 */
export class ManifestObjects {
  readonly #options: ManifestObjectsOptions;
  readonly #services: Shelf<Service>;
  readonly #endpointSlices: Shelf<EndpointSlice>;
  readonly #nodes: Shelf<Node>;
  readonly #namespaces: Shelf<Namespace>;
  readonly #serviceCIDRs: Shelf<ServiceCIDR>;
  readonly #leftOut = new LeftOut();
  #optedOut: ReadonlySet<string> = new Set();

  constructor(options: ManifestObjectsOptions) {
    this.#options = options;
    const shows = ({ namespace, otherProxy }: Service | EndpointSlice) =>
      !otherProxy && !this.#optedOut.has(namespace);
    const { onNotice } = options;
    this.#services = new Shelf<Service>({ kind: "Service", shows, onNotice });
    this.#endpointSlices = new Shelf<EndpointSlice>({ kind: "EndpointSlice", shows, onNotice });
    const all = () => true;
    this.#nodes = new Shelf<Node>({ kind: "Node", shows: all, onNotice });
    this.#namespaces = new Shelf<Namespace>({ kind: "Namespace", shows: all, onNotice });
    this.#serviceCIDRs = new Shelf<ServiceCIDR>({ kind: "ServiceCIDR", shows: all, onNotice });
  }

  get services(): Watcher<Service> {
    return this.#services.watcher;
  }

  get endpointSlices(): Watcher<EndpointSlice> {
    return this.#endpointSlices.watcher;
  }

  get nodes(): Watcher<Node> {
    return this.#nodes.watcher;
  }

  get serviceCIDRs(): Watcher<ServiceCIDR> {
    return this.#serviceCIDRs.watcher;
  }

  get counts(): Readonly<Record<string, number>> {
    return {
      EndpointSlice: this.#endpointSlices.shown().length,
      Namespace: this.#namespaces.shown().length,
      Node: this.#nodes.shown().length,
      Service: this.#services.shown().length,
      ServiceCIDR: this.#serviceCIDRs.shown().length,
    };
  }

  /** Takes a file's objects in place of those it had, and tells who watches what changed. */
  setFile(file: string, objects: readonly ManifestObject[]): void {
    const sorted = sortByKind(objects);
    // Namespaces first: what they leave out shall not be shown for a moment.
    this.#namespaces.setFile(file, sorted.namespaces);
    if (this.#options.namespaceOptOut) this.#followOptOut();
    this.#nodes.setFile(file, sorted.nodes);
    this.#serviceCIDRs.setFile(file, sorted.serviceCIDRs);
    for (const change of this.#services.setFile(file, sorted.services)) {
      if (change.kind === "upsert") this.#noteLeftOut(change.object);
      else this.#leftOut.set(`${change.namespace}/${change.name}`, undefined);
    }
    this.#endpointSlices.setFile(file, sorted.endpointSlices);
  }

  /** Says which Services are not served, and why, where that is news. */
  tellLeftOut(): void {
    const summary = this.#leftOut.takeSummary();
    if (summary !== undefined) this.#options.onNotice(summary);
  }

  #noteLeftOut(service: Service): void {
    const name = `${service.namespace}/${service.name}`;
    this.#leftOut.set(name, whyLeftOut(service, this.#optedOut));
  }

  #followOptOut(): void {
    const before = this.#optedOut;
    const after = new Set<string>();
    for (const { name, optedOut } of this.#namespaces.shown()) if (optedOut) after.add(name);
    this.#optedOut = after;
    const moved = [...before, ...after].filter((name) => before.has(name) !== after.has(name));
    for (const namespace of moved) {
      this.#services.showNamespace(namespace);
      this.#endpointSlices.showNamespace(namespace);
      for (const service of this.#services.held(namespace)) this.#noteLeftOut(service);
    }
  }
}

interface ShelfOptions<T> {
  readonly kind: string;
  readonly shows: (object: T) => boolean;
  readonly onNotice: (message: string) => void;
}

/** The objects of one kind. */
class Shelf<T extends ApiObject> {
  readonly watcher: Broadcast<T>;
  readonly #merged = new MergedObjects<T>();
  readonly #options: ShelfOptions<T>;

  constructor(options: ShelfOptions<T>) {
    this.#options = options;
    this.watcher = new Broadcast<T>(() => this.shown());
  }

  /** Shown or not. */
  held(namespace?: string): Iterable<T> {
    return this.#merged.values(namespace);
  }

  shown(namespace?: string): readonly T[] {
    return [...this.held(namespace)].filter(this.#options.shows);
  }

  /** Returns what changed, shown or not. */
  setFile(file: string, objects: readonly T[]): readonly ObjectChange<T>[] {
    const { changes, duplicates } = this.#merged.setFile(file, objects);
    const { kind, shows, onNotice } = this.#options;
    for (const { namespace, name, used, unused } of duplicates) {
      const subject = namespace === "" ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
      onNotice(
        used === unused
          ? `${subject} is in "${used}" more than once: the last one counts`
          : `${subject} is in "${unused}" and in "${used}": the latter counts`,
      );
    }
    // An object that is not to be shown any more is gone for those who watch.
    const visible = changes.map((change): ObjectChange<T> =>
      change.kind === "delete" || shows(change.object)
        ? change
        : { kind: "delete", namespace: change.object.namespace, name: change.object.name }
    );
    if (visible.length > 0) this.watcher.send({ kind: "changes", changes: visible });
    return changes;
  }

  /** Tells the complete state of one namespace. */
  showNamespace(namespace: string): void {
    this.watcher.send({ kind: "replace", objects: this.shown(namespace), namespace });
  }
}

interface ByKind {
  readonly services: Service[];
  readonly endpointSlices: EndpointSlice[];
  readonly nodes: Node[];
  readonly namespaces: Namespace[];
  readonly serviceCIDRs: ServiceCIDR[];
}

function sortByKind(objects: readonly ManifestObject[]): ByKind {
  const sorted: ByKind = {
    services: [],
    endpointSlices: [],
    nodes: [],
    namespaces: [],
    serviceCIDRs: [],
  };
  for (const entry of objects) {
    switch (entry.kind) {
      case "Service":
        sorted.services.push(entry.object);
        break;
      case "EndpointSlice":
        sorted.endpointSlices.push(entry.object);
        break;
      case "Node":
        sorted.nodes.push(entry.object);
        break;
      case "Namespace":
        sorted.namespaces.push(entry.object);
        break;
      case "ServiceCIDR":
        sorted.serviceCIDRs.push(entry.object);
        break;
    }
  }
  return sorted;
}
