/**
 * A batch in several, where the socket takes only so many bytes at once: a program without rights over
 * the machine cannot make its send buffer larger than `net.core.wmem_max` allows. Between two of them
 * packets meet a Service whose new endpoints are there before its old ones are gone.
 */
import type { NftElement } from "../../kernel/nftables/operations.ts";
import type { BatchMeasure } from "../../kernel/nftables/batch_measure.ts";
import { type Batch, batchOf, OwnedElements, type Owner, type Piece } from "./batch.ts";

/** What the socket takes. */
export interface BatchLimit {
  /** Of one batch; Infinity cuts nothing. */
  readonly bytes: number;
  readonly measure: BatchMeasure;
}

type Whole = Extract<Piece, { kind: "whole" }>;
type Elements = Exclude<Piece, { kind: "whole" }>;

/** Begin and end of the batch, and what an operation's messages need beside its elements. */
const headBytes = 512;

/**
 * The batches, in the order in which they have to be committed. What can neither be cut nor does fit
 * stands alone in its batch: the kernel refuses it, and it is known whose it is.
 */
export function* cutBatches(batches: Iterable<Batch>, limit: BatchLimit): Generator<Batch> {
  for (const batch of batches) {
    if (limit.bytes === Infinity) yield batch;
    else yield* new Cutter(batch, limit).batches();
  }
}

/** Fills one batch after the other with the pieces of a larger one. */
class Cutter {
  readonly #batch: Batch;
  readonly #measure: BatchMeasure;
  readonly #bytes: number;
  #pieces: Piece[] = [];
  #owners = new Set<Owner>();
  #room: number;
  #isCut = false;

  constructor(batch: Batch, { bytes, measure }: BatchLimit) {
    this.#batch = batch;
    this.#measure = measure;
    // Element lists have a 16-bit length: one in a hundred bytes or so is the head of another message.
    this.#bytes = bytes - headBytes - (bytes >> 7);
    this.#room = this.#bytes;
  }

  *batches(): Generator<Batch> {
    yield* this.#take(this.#batch.pieces);
    if (this.#isCut) {
      if (this.#pieces.length > 0) yield this.#finish();
    } else yield this.#batch;
  }

  *#take(pieces: readonly Piece[]): Generator<Batch> {
    for (const piece of pieces) {
      if (piece.kind === "whole") yield* this.#takeWhole(piece);
      else yield* this.#takeElements(piece);
    }
  }

  *#takeWhole(piece: Whole): Generator<Batch> {
    let bytes = 0;
    for (const operation of piece.operations) bytes += this.#measure.operation(operation);
    if (bytes > this.#bytes && piece.otherwise) return yield* this.#take(piece.otherwise);
    if (bytes > this.#room && this.#pieces.length > 0) yield this.#finish();
    this.#add(piece, bytes);
    this.#owners.add(piece.owner);
  }

  *#takeElements(piece: Elements): Generator<Batch> {
    const lists = listsOf(piece);
    let part = lists.map(() => new OwnedElements());
    let bytes = 0;
    for (let i = 0; i < lists[0].elements.length; i++) {
      const element = this.#elementBytes(piece, i);
      const isFull = headBytes + bytes + element > this.#room;
      if (isFull && (bytes > 0 || this.#pieces.length > 0)) {
        if (bytes > 0) this.#add(withLists(piece, part), bytes);
        yield this.#finish();
        part = lists.map(() => new OwnedElements());
        bytes = 0;
      }
      bytes += element;
      for (const [list, owned] of lists.entries()) {
        part[list].add(owned.elements[i], owned.ownerAt(i));
        this.#owners.add(owned.ownerAt(i));
      }
    }
    this.#add(withLists(piece, part), headBytes + bytes);
  }

  #elementBytes(piece: Elements, index: number): number {
    const { set } = piece;
    const bytes = (kind: "add-elements" | "delete-elements", element: NftElement) =>
      this.#measure.element(kind, set, element);
    if (piece.kind !== "replace-elements") return bytes(piece.kind, piece.owned.elements[index]);
    return bytes("delete-elements", piece.removed.elements[index]) +
      bytes("add-elements", piece.added.elements[index]);
  }

  #add(piece: Piece, bytes: number): void {
    this.#pieces.push(piece);
    this.#room -= bytes;
  }

  #finish(): Batch {
    const owners = [...this.#owners].filter((owner) => owner !== undefined);
    const batch = batchOf(this.#pieces, owners.length > 0 ? owners : this.#batch.owners);
    this.#pieces = [];
    this.#owners = new Set();
    this.#room = this.#bytes;
    this.#isCut = true;
    return batch;
  }
}

/** Lists of equal length. */
function listsOf(piece: Elements): readonly OwnedElements[] {
  return piece.kind === "replace-elements" ? [piece.removed, piece.added] : [piece.owned];
}

function withLists(piece: Elements, lists: readonly OwnedElements[]): Piece {
  if (piece.kind !== "replace-elements") return { ...piece, owned: lists[0] };
  return { ...piece, removed: lists[0], added: lists[1] };
}
