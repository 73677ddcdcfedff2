/** What the nf_tables worker and its owner say to each other. */
import type { NetlinkErrorOptions } from "../netlink/errors.ts";
import type { ListDifference } from "./compare_element_lists.ts";
import type { PackedGroups, PackedPayloads } from "./packed_payloads.ts";
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
  | { readonly kind: "forget"; readonly id: number }
  /** Is not answered: the number in `closed` becomes 1 when the socket is closed. */
  | { readonly kind: "close"; readonly id: number; readonly closed: Int32Array<SharedArrayBuffer> };

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
