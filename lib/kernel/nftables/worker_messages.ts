/** What the nf_tables worker and its owner say to each other. */
import type { NetlinkErrorOptions } from "../netlink/errors.ts";
import type { ListDifference } from "./compare_elements.ts";
import type { CommitResult, NftQuery } from "./transport.ts";

/**
 * To the worker. It answers each request once, in order; but `dump` is answered by the `compare` of
 * the same number that follows, and neither by `forget`.
 */
export type WorkerRequest =
  | { readonly kind: "open"; readonly id: number }
  | {
    readonly kind: "commit";
    readonly id: number;
    readonly bytes: Uint8Array<ArrayBuffer>;
    readonly series?: number;
  }
  | { readonly kind: "query"; readonly id: number; readonly query: NftQuery }
  | { readonly kind: "dump"; readonly id: number; readonly query: NftQuery }
  | { readonly kind: "compare"; readonly id: number; readonly desired: Uint8Array<ArrayBuffer> }
  | { readonly kind: "forget"; readonly id: number }
  | { readonly kind: "close"; readonly id: number };

/** Answers of the worker. */
export type WorkerAnswer =
  | { readonly kind: "done"; readonly id: number }
  | { readonly kind: "committed"; readonly id: number; readonly result: CommitResult }
  | { readonly kind: "payloads"; readonly id: number; readonly payloads: PackedPayloads }
  | { readonly kind: "compared"; readonly id: number; readonly difference: ListDifference }
  | { readonly kind: "failed"; readonly id: number; readonly failure: WorkerFailure };

/** An error, as it can be cloned. */
export type WorkerFailure =
  | { readonly kind: "netlink"; readonly options: NetlinkErrorOptions }
  | { readonly kind: "other"; readonly message: string };

/** Many payloads in one buffer, since each buffer that is handed over costs. */
export interface PackedPayloads {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly lengths: Uint32Array<ArrayBuffer>;
}

/** Copies the payloads into one buffer. */
export function packPayloads(payloads: readonly Uint8Array[]): PackedPayloads {
  const lengths = Uint32Array.from(payloads, ({ length }) => length);
  const bytes = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0));
  let at = 0;
  for (const payload of payloads) {
    bytes.set(payload, at);
    at += payload.length;
  }
  return { bytes, lengths };
}

/** Views of the packed payloads. */
export function unpackPayloads({ bytes, lengths }: PackedPayloads): Uint8Array[] {
  let at = 0;
  return Array.from(lengths, (length) => bytes.subarray(at, at += length));
}
