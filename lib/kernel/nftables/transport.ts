/**
 * How bytes reach the kernel: in a worker for the program, in this thread for tools and tests. A
 * commit runs as a whole inside one system call, up to some tens of milliseconds for a large batch;
 * the event loop must not wait for it.
 */
import type { NetlinkAnswer } from "../netlink/messages.ts";
import type { ListDifference } from "./compare_elements.ts";
import type { CommitReceipt } from "./nftables.ts";

/** A question to nf_tables; its `names` are string attributes, by number. */
export interface NftQuery {
  /** Completes "Cannot …". */
  readonly op: string;
  readonly type: number;
  readonly nfproto: number;
  readonly names: readonly (readonly [attribute: number, name: string])[];
  /** Ask for all, or for the one that the names identify. */
  readonly dump: boolean;
}

/** What became of a batch: its bytes are back. */
export type CommitResult =
  | {
    readonly kind: "applied";
    readonly bytes: Uint8Array<ArrayBuffer>;
    readonly receipt: CommitReceipt;
  }
  /** The refusals, in the kernel's order. */
  | {
    readonly kind: "refused";
    readonly bytes: Uint8Array<ArrayBuffer>;
    readonly refusals: readonly NetlinkAnswer[];
  }
  /** Not sent, since one of its series before was refused. */
  | { readonly kind: "skipped"; readonly bytes: Uint8Array<ArrayBuffer> };

/** Owns one nf_tables socket. Calls are done one after the other, in order. */
export interface NftTransport {
  /** Hands over the bytes of a batch, and the number of its series. */
  commit(bytes: Uint8Array<ArrayBuffer>, series?: number): Promise<CommitResult>;
  /** Payloads of the answers (`struct nfgenmsg` and attributes). Throws `NetlinkError`. */
  query(query: NftQuery): Promise<readonly Uint8Array[]>;
  /**
   * Dumps a set's elements at once, and compares them with a list of elements as soon as that is
   * there. Takes the list over.
   */
  compare(query: NftQuery, desired: Promise<Uint8Array<ArrayBuffer>>): Promise<ListDifference>;
  /** Closes the socket; later calls fail. */
  close(): void;
}
