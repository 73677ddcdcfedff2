/** How many bytes operations take in a batch: for sockets that take only so many. Asks the encoder itself. */
import { MessageWriter } from "../netlink/writer.ts";
import { encodeBatch } from "./encode.ts";
import { ElementEncoder } from "./encode_elements.ts";
import type { NftElement, NftOperation, NftSet, NftTable } from "./operations.ts";

/** What is measured: operations on one table. */
export interface BatchMeasureOptions {
  readonly table: NftTable;
  /** The definition of a set by name, for its elements. */
  readonly setOf: (name: string) => NftSet | undefined;
}

/** Measures what a batch of the same operations will take, never less. */
export class BatchMeasure {
  readonly #options: BatchMeasureOptions;
  readonly #encoders = new Map<string, ElementEncoder>();
  readonly #writer = new MessageWriter();

  constructor(options: BatchMeasureOptions) {
    this.#options = options;
  }

  /** Bytes of a batch of this operation alone. */
  operation(operation: NftOperation): number {
    const { setOf, table } = this.#options;
    return encodeBatch(table, [operation], { setOf }).bytes.length;
  }

  /** Bytes of an element in an operation of many. */
  element(kind: "add-elements" | "delete-elements", set: string, element: NftElement): number {
    const encoder = this.#encoderOf(set);
    this.#writer.reset();
    if (kind === "add-elements") encoder.add(this.#writer, element);
    else encoder.remove(this.#writer, element);
    return this.#writer.length;
  }

  #encoderOf(name: string): ElementEncoder {
    const known = this.#encoders.get(name);
    if (known) return known;
    const set = this.#options.setOf(name);
    if (!set) throw new TypeError(`Cannot measure elements of "${name}": the set is not known`);
    const encoder = new ElementEncoder(set, this.#options.table.family);
    this.#encoders.set(name, encoder);
    return encoder;
  }
}
