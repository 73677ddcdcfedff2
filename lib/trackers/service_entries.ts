import { NamespacedMap } from "./namespaced_map.ts";
import { ServiceEntry } from "./service_entry.ts";

/** All entries of a family, and which of them have to be looked at again. */
export class ServiceEntries {
  readonly #entries = new NamespacedMap<ServiceEntry>();
  readonly #dirty = new Set<ServiceEntry>();

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

  markDirty(entry: ServiceEntry): void {
    this.#dirty.add(entry);
  }

  /** Those marked since the last call. */
  takeDirty(): readonly ServiceEntry[] {
    const dirty = [...this.#dirty];
    this.#dirty.clear();
    return dirty;
  }
}
