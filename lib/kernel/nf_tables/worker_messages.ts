/** What the nf_tables worker and its owner say to each other. */
import type { NetlinkErrorOptions } from "../netlink/errors.ts";
import type { ListDifference } from "./compare_element_lists.ts";
import type {
  CommitResult,
  LookUpResult,
  NfDigestQuery,
  NfQuery,
  NfQueryEach,
} from "./transport.ts";

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
  | { readonly kind: "query"; readonly id: number; readonly query: NfQuery }
  | { readonly kind: "query-each"; readonly id: number; readonly queries: NfQueryEach }
  | {
    readonly kind: "look-up";
    readonly id: number;
    readonly query: NfQuery;
    readonly elements: Uint8Array<ArrayBuffer>;
  }
  | { readonly kind: "digests"; readonly id: number; readonly query: NfDigestQuery }
  | { readonly kind: "dump"; readonly id: number; readonly query: NfQuery }
  | { readonly kind: "compare"; readonly id: number; readonly desired: Uint8Array<ArrayBuffer> }
  | { readonly kind: "forget"; readonly id: number };

/** Answers of the worker. */
export type WorkerAnswer =
  | { readonly kind: "done"; readonly id: number }
  | { readonly kind: "committed"; readonly id: number; readonly result: CommitResult }
  | { readonly kind: "payloads"; readonly id: number; readonly payloads: PackedPayloads }
  | { readonly kind: "payload-groups"; readonly id: number; readonly groups: PackedGroups }
  | { readonly kind: "looked-up"; readonly id: number; readonly result: LookUpResult }
  | {
    readonly kind: "digested";
    readonly id: number;
    readonly digests: Float64Array<ArrayBuffer>;
  }
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

/** Lists of payloads in one buffer, each with its own count. */
export interface PackedGroups {
  readonly payloads: PackedPayloads;
  readonly counts: Uint32Array<ArrayBuffer>;
}

/** Copies the payloads of all groups into one buffer. */
export function packGroups(groups: readonly (readonly Uint8Array[])[]): PackedGroups {
  return {
    payloads: packPayloads(groups.flat()),
    counts: Uint32Array.from(groups, ({ length }) => length),
  };
}

/** Views of the packed payloads, group by group. */
export function unpackGroups({ counts, payloads }: PackedGroups): Uint8Array[][] {
  const all = unpackPayloads(payloads);
  let at = 0;
  return Array.from(counts, (count) => all.slice(at, at += count));
}
