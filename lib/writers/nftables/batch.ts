/**
 * Operations that are committed together, and which service port each of them is for. A batch is a
 * list of pieces in an order that does no harm when they are committed one by one, since a socket may
 * not take all of them at once (`cut_batch.ts`).
 */
import { assertNever } from "../../base/assert_never.ts";
import type { OwnedBatch } from "../../kernel/nf_tables/culprit_search.ts";
import type { BatchFailure } from "../../kernel/nf_tables/errors.ts";
import type { NftElement, NftOperation } from "../../kernel/nftables/operations.ts";
import type { ServicePortKey } from "../../snapshot/snapshot.ts";
import type { SetName } from "./sets.ts";

/** A service port, or the name of what is removed; undefined where an operation is for none in particular. */
export type Owner = ServicePortKey | undefined;

/** A part of a batch. */
export type Piece =
  /** Takes effect as a whole: a chain with other rules. */
  | {
    readonly kind: "whole";
    readonly operations: readonly NftOperation[];
    readonly owner: Owner;
    /** Does the same more slowly, in pieces that may be cut. */
    readonly otherwise?: readonly Piece[];
  }
  /** May be cut anywhere. */
  | {
    readonly kind: "add-elements" | "delete-elements";
    readonly set: SetName;
    readonly owned: OwnedElements;
  }
  /** Elements in place of others with the same keys, pair by pair. */
  | {
    readonly kind: "replace-elements";
    readonly set: SetName;
    readonly removed: OwnedElements;
    readonly added: OwnedElements;
  };

/** One atomic change of the table. */
export interface Batch extends OwnedBatch {
  readonly pieces: readonly Piece[];
  readonly operations: readonly NftOperation[];
  /** The service ports that it brings up to date. */
  readonly owners: readonly ServicePortKey[];
  /** Whose operation the kernel refused, where that can be told. */
  ownerOf(failure: BatchFailure): Owner;
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
    this.#startRun(owner);
    for (const element of elements) this.#elements.push(element);
  }

  add(element: NftElement, owner: Owner): void {
    this.#startRun(owner);
    this.#elements.push(element);
  }

  ownerAt(index: number): Owner {
    return this.#owners[this.#starts.findLastIndex((start) => start <= index)];
  }

  #startRun(owner: Owner): void {
    if (this.#owners.length > 0 && this.#owners.at(-1) === owner) return;
    this.#starts.push(this.#elements.length);
    this.#owners.push(owner);
  }
}

/** Puts a batch together in the order of the calls. */
export class BatchBuilder {
  readonly #pieces: Piece[] = [];

  /** Adds operations that belong together. */
  add(operation: NftOperation | readonly NftOperation[], owner?: Owner): void {
    const operations = "kind" in operation ? [operation] : operation;
    if (operations.length > 0) this.#pieces.push({ kind: "whole", operations, owner });
  }

  addPiece(piece: Piece): void {
    const isEmpty = "owned" in piece && piece.owned.elements.length === 0;
    if (!isEmpty) this.#pieces.push(piece);
  }

  /** Everything added so far. */
  build(owners: readonly ServicePortKey[] = []): Batch {
    return batchOf(this.#pieces, owners);
  }
}

/** A batch of these pieces, in this order. */
export function batchOf(pieces: readonly Piece[], owners: readonly ServicePortKey[]): Batch {
  const operations: NftOperation[] = [];
  const operationOwners: (Owner | OwnedElements)[] = [];
  for (const piece of pieces) {
    for (const [operation, owner] of operationsOf(piece)) {
      operations.push(operation);
      operationOwners.push(owner);
    }
  }
  return {
    pieces,
    operations,
    owners,
    ownerOf: ({ element, operation }) => {
      const owner = operationOwners[operation];
      if (!(owner instanceof OwnedElements)) return owner;
      return element === undefined ? undefined : owner.ownerAt(element);
    },
  };
}

/** One batch that does all of it at once, after some operations of its own. */
export function mergeBatches(first: readonly NftOperation[], batches: Iterable<Batch>): Batch {
  const merged = [...batches];
  const start = first.map((operation): Piece => (
    { kind: "whole", operations: [operation], owner: undefined }
  ));
  return batchOf(
    [...start, ...merged.flatMap(({ pieces }) => pieces)],
    [...new Set(merged.flatMap(({ owners }) => owners))],
  );
}

function operationsOf(piece: Piece): readonly (readonly [NftOperation, Owner | OwnedElements])[] {
  switch (piece.kind) {
    case "whole":
      return piece.operations.map((operation) => [operation, piece.owner]);
    case "add-elements":
    case "delete-elements": {
      const { kind, owned, set } = piece;
      return [[{ kind, set, elements: owned.elements }, owned]];
    }
    case "replace-elements": {
      const { added, removed, set } = piece;
      return [
        [{ kind: "delete-elements", set, elements: removed.elements }, removed],
        [{ kind: "add-elements", set, elements: added.elements }, added],
      ];
    }
    default:
      return assertNever(piece);
  }
}
