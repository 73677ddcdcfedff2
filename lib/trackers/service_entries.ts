import { NamespacedMap } from "./namespaced_map.ts";
import { ServiceEntry } from "./service_entry.ts";

/** So many endpoints, counted for each port, are rebuilt in some ten milliseconds. */
const endpointsAtOnce = 100_000;
/** An entry with more is called a giant: it waits for the others. */
const endpointsOfGiant = 10_000;

/** What has to be looked at again now. */
export interface DirtyEntries {
  readonly whole: readonly ServiceEntry[];
  /** Giants, of which so many endpoints are weighed at most. */
  readonly giants: readonly { readonly entry: ServiceEntry; readonly most: number }[];
}

/** All entries of a family, and which of them have to be looked at again. */
export class ServiceEntries {
  readonly #entries = new NamespacedMap<ServiceEntry>();
  readonly #dirty = new Set<ServiceEntry>();
  readonly #waiting = new Set<ServiceEntry>();
  /** The last call gave a giant. */
  #tookGiant = false;
  /** There was a call: what it gave is in force, and what is left for the next one is missing nowhere. */
  #wasTaken = false;

  find(namespace: string, name: string): ServiceEntry | undefined {
    return this.#entries.get(namespace, name);
  }

  obtain(namespace: string, name: string): ServiceEntry {
    const known = this.#entries.get(namespace, name);
    if (known) return known;
    const entry = new ServiceEntry(namespace, name);
    this.#entries.set(namespace, name, entry);
    return entry;
  }

  /** Forgets an entry that has nothing left. */
  dropIfEmpty(entry: ServiceEntry): void {
    if (entry.empty) this.#entries.delete(entry.namespace, entry.name);
  }

  values(namespace?: string): Iterable<ServiceEntry> {
    return this.#entries.values(namespace);
  }

  /** Something changed that other entries may depend on, such as who has an address. */
  markDirty(entry: ServiceEntry): void {
    this.#dirty.add(entry);
  }

  /** Nothing changed but the entry's own endpoints: those of a giant may wait for others. */
  markEndpointsDirty(entry: ServiceEntry): void {
    entry.endpointsChanged();
    this.#waiting.add(entry);
  }

  /**
   * Those marked since the last call; of large ones that are new, or whose endpoints changed and nothing
   * else, as many as are looked at soon, or a part of one, and none where others would wait for it twice
   * in a row. The rest comes with the next call. The first call gives all.
   */
  takeDirty(): DirtyEntries {
    if (this.#wasTaken) this.#letGiantsWait();
    this.#wasTaken = true;
    const whole = [...this.#dirty];
    const waiting = [...this.#waiting.difference(this.#dirty)];
    this.#dirty.clear();
    this.#waiting.clear();
    const giants = waiting.filter((entry) => entry.size > endpointsOfGiant);
    for (const entry of waiting) if (entry.size <= endpointsOfGiant) whole.push(entry);
    const hasTurn = whole.length === 0 || !this.#tookGiant;
    this.#tookGiant = hasTurn && giants.length > 0;
    const taken: DirtyEntries["giants"][number][] = [];
    let most = endpointsAtOnce;
    // In the order in which they came: none starves.
    for (const entry of giants) {
      const isTaken = hasTurn && (taken.length === 0 || entry.size <= most);
      if (isTaken) taken.push({ entry, most });
      else this.#waiting.add(entry);
      most -= entry.size;
    }
    return { whole, giants: taken };
  }

  /** One that is new has nothing that could be wrong until it comes. */
  #letGiantsWait(): void {
    for (const entry of this.#dirty) {
      if (entry.built.length > 0 || entry.size <= endpointsOfGiant) continue;
      this.#dirty.delete(entry);
      this.markEndpointsDirty(entry);
    }
  }

  /** Not all of this giant was looked at: the rest waits behind the others. */
  goOnWith(entry: ServiceEntry): void {
    this.#waiting.add(entry);
  }

  /** Those left for the next `takeDirty`. */
  get waiting(): ReadonlySet<ServiceEntry> {
    return this.#waiting;
  }
}
