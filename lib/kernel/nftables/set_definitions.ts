/**
 * What is known of the sets in the kernel, so that an element can be encoded without asking first. It
 * is forgotten with every failure and learnt anew with every listing, so a set that somebody else
 * replaced by one of another type is misjudged at most once.
 */
import type { NftOperation, NftSet, NftTable } from "./operations.ts";

/** Definitions by table and name. */
export class SetDefinitions {
  readonly #tables = new Map<string, Map<string, NftSet>>();

  get(table: NftTable, name: string): NftSet | undefined {
    return this.#of(table).get(name);
  }

  learn(table: NftTable, sets: readonly NftSet[]): void {
    for (const set of sets) this.#of(table).set(set.name, set);
  }

  forget(table: NftTable): void {
    this.#tables.delete(keyOf(table));
  }

  /** Follows what a batch does. */
  committed(table: NftTable, operations: readonly NftOperation[]): void {
    for (const operation of operations) {
      if (operation.kind === "add-set") this.#of(table).set(operation.set.name, operation.set);
      else if (operation.kind === "delete-set") this.#of(table).delete(operation.set);
      else if (operation.kind === "delete-table") this.forget(table);
    }
  }

  #of(table: NftTable): Map<string, NftSet> {
    const key = keyOf(table);
    const known = this.#tables.get(key) ?? new Map<string, NftSet>();
    this.#tables.set(key, known);
    return known;
  }
}

function keyOf(table: NftTable): string {
  return `${table.family} ${table.name}`;
}
