/** Operations that are committed together, and which service port each of them is for. */
import type { NftFailure } from "../../kernel/nftables/nftables.ts";
import type { NftElement, NftOperation } from "../../kernel/nftables/operations.ts";
import type { ServicePortKey } from "../../snapshot/snapshot.ts";
import type { SetName } from "./sets.ts";

/** Undefined where an operation is for no service port in particular. */
export type Owner = ServicePortKey | undefined;

/** One atomic change of the table. */
export interface Batch {
  readonly operations: readonly NftOperation[];
  /** The service ports that it brings up to date. */
  readonly services: readonly ServicePortKey[];
  /** Whose operation the kernel refused, where that can be told. */
  ownerOf(failure: NftFailure): Owner;
}

/** Elements of one set, and whose they are. */
export class OwnedElements {
  readonly #elements: NftElement[] = [];
  /** Where a run of elements of one owner starts. */
  readonly #starts: number[] = [];
  readonly #owners: Owner[] = [];

  get elements(): readonly NftElement[] {
    return this.#elements;
  }

  push(elements: readonly NftElement[], owner: Owner): void {
    if (this.#owners.length === 0 || this.#owners.at(-1) !== owner) {
      this.#starts.push(this.#elements.length);
      this.#owners.push(owner);
    }
    for (const element of elements) this.#elements.push(element);
  }

  ownerAt(index: number): Owner {
    return this.#owners[this.#starts.findLastIndex((start) => start <= index)];
  }
}

/** Puts a batch together in the order of the calls. */
export class BatchBuilder {
  readonly #operations: NftOperation[] = [];
  readonly #owners: (Owner | OwnedElements)[] = [];

  add(operation: NftOperation, owner?: Owner): void {
    this.#operations.push(operation);
    this.#owners.push(owner);
  }

  addElements(
    kind: "add-elements" | "delete-elements",
    set: SetName,
    owned: OwnedElements,
  ): void {
    if (owned.elements.length === 0) return;
    this.#operations.push({ kind, set, elements: owned.elements });
    this.#owners.push(owned);
  }

  /** Everything added so far. */
  build(services: readonly ServicePortKey[] = []): Batch {
    const owners = this.#owners;
    return {
      operations: this.#operations,
      services,
      ownerOf: ({ element, operation }) => {
        const owner = owners[operation];
        if (!(owner instanceof OwnedElements)) return owner;
        return element === undefined ? undefined : owner.ownerAt(element);
      },
    };
  }
}

/** One batch that does all of it at once, after some operations of its own. */
export function mergeBatches(first: readonly NftOperation[], batches: Iterable<Batch>): Batch {
  const merged = [...batches];
  const starts: number[] = [];
  const operations = [...first];
  for (const batch of merged) {
    starts.push(operations.length);
    for (const operation of batch.operations) operations.push(operation);
  }
  return {
    operations,
    services: merged.flatMap(({ services }) => services),
    ownerOf: (failure) => {
      const index = starts.findLastIndex((start) => start <= failure.operation);
      if (index < 0) return undefined;
      return merged[index].ownerOf({ ...failure, operation: failure.operation - starts[index] });
    },
  };
}
