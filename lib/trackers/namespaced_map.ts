/** Values by namespace and name: a whole namespace is one step away, and no joined keys are kept. */
export class NamespacedMap<V> {
  readonly #namespaces = new Map<string, Map<string, V>>();

  get(namespace: string, name: string): V | undefined {
    return this.#namespaces.get(namespace)?.get(name);
  }

  set(namespace: string, name: string, value: V): void {
    const names = this.#namespaces.get(namespace);
    if (names) names.set(name, value);
    else this.#namespaces.set(namespace, new Map([[name, value]]));
  }

  delete(namespace: string, name: string): void {
    const names = this.#namespaces.get(namespace);
    if (names?.delete(name) && names.size === 0) this.#namespaces.delete(namespace);
  }

  /** All values, or those of one namespace. The map may lose entries while this is walked. */
  *values(namespace?: string): Iterable<V> {
    if (namespace === undefined) {
      for (const names of this.#namespaces.values()) yield* names.values();
    } else {
      yield* this.#namespaces.get(namespace)?.values() ?? [];
    }
  }
}
