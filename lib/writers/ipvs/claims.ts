/** Things that several service ports may ask for: they stay until the last one lets go. */
import type { ServicePortKey } from "../../snapshot/snapshot.ts";

interface Claim<V> {
  readonly owner: ServicePortKey;
  readonly value: V;
}

/** By the name of the thing: whoever is first by name says how it is. */
export class Claims<V> {
  readonly #first = new Map<string, Claim<V>>();
  /** Of what more than one asked for, which is rare. */
  readonly #others = new Map<string, readonly Claim<V>[]>();

  get size(): number {
    return this.#first.size;
  }

  keys(): IterableIterator<string> {
    return this.#first.keys();
  }

  *values(): Generator<V> {
    for (const { value } of this.#first.values()) yield value;
  }

  has(name: string): boolean {
    return this.#first.has(name);
  }

  get(name: string): V | undefined {
    return this.#first.get(name)?.value;
  }

  ownerOf(name: string): ServicePortKey | undefined {
    return this.#first.get(name)?.owner;
  }

  claim(name: string, owner: ServicePortKey, value: V): void {
    if (!this.#first.has(name)) this.#first.set(name, { owner, value });
    else this.#set(name, [...this.#without(name, owner), { owner, value }]);
  }

  release(name: string, owner: ServicePortKey): void {
    this.#set(name, this.#without(name, owner));
  }

  #without(name: string, owner: ServicePortKey): readonly Claim<V>[] {
    const first = this.#first.get(name);
    if (!first) return [];
    return [first, ...this.#others.get(name) ?? []].filter((claim) => claim.owner !== owner);
  }

  #set(name: string, claims: readonly Claim<V>[]): void {
    const [first, ...others] = claims.toSorted((a, b) => a.owner < b.owner ? -1 : 1);
    if (first) this.#first.set(name, first);
    else this.#first.delete(name);
    if (others.length > 0) this.#others.set(name, others);
    else this.#others.delete(name);
  }
}
