/**
 * How bytes reach the kernel: in a worker for the program, in this thread for tools and tests. A
 * commit runs as a whole inside one system call, up to some tens of milliseconds for a large batch;
 * the event loop must not wait for it. All users of nf_tables in the program share one transport.
 */
import type { NetlinkAnswer } from "../netlink/messages.ts";
import type { DigestOptions } from "./answer_digest.ts";
import type { CommitNotices } from "./commit_notices.ts";
import type { ListDifference } from "./compare_element_lists.ts";

/** A question to nf_tables; its `names` are string attributes, by number. */
export interface NfQuery {
  /** Completes "Cannot …". */
  readonly op: string;
  readonly type: number;
  readonly nfproto: number;
  readonly names: readonly (readonly [attribute: number, name: string])[];
  /** Ask for all, or for the one that the names identify. */
  readonly dump: boolean;
  /**
   * Few answers: asked in this thread, which takes a tenth of the way to the worker and back. Does not wait
   * for commits that are under way.
   */
  readonly isSmall?: boolean;
  /**
   * Every commit of anybody interrupts a dump, which then begins anew. One that is as long as others' commits
   * are often never ends so. With this, an interrupted one is taken too, if this number of its answers is
   * that of the one right before it. The kernel goes on behind as many objects as it gave, so only one that it
   * gave, and that is gone then, makes it leave one out: the second dump has the gone one no more.
   * Whatever was there from the beginning to the end is among the answers.
   */
  readonly settled?: DigestOptions;
}

/** One question about each of many names, which stand behind the names of the question itself. */
export interface NfQueryEach {
  readonly query: NfQuery;
  /** The number of the attribute that holds the name. */
  readonly attribute: number;
  readonly names: readonly string[];
}

/** What digests are asked for. */
export interface NfDigestQuery {
  /** The question itself, or one about each of many names. */
  readonly asked: NfQuery | NfQueryEach;
  readonly options: DigestOptions;
  /**
   * The number of before: where all answers still give it, nothing changed, although others wrote to
   * something else meanwhile. Without it, who commits all the time lets no long list come to its end.
   */
  readonly expected?: number;
}

/** The ruleset's generation just before a batch and just after it: more than one apart where others wrote. */
export interface CommitReceipt {
  readonly before: number;
  readonly after: number;
}

/** What the kernel told of a message that asked to be echoed: the object as it is now. */
export interface CommitEcho {
  /** The message's sequence number. */
  readonly sequence: number;
  /** See `Msg`: the kernel also tells the new generation. */
  readonly type: number;
  /** `struct nfgenmsg` and attributes. */
  readonly payload: Uint8Array;
}

/** What became of a batch: its bytes are back. */
export type CommitResult =
  | {
    readonly kind: "applied";
    readonly bytes: Uint8Array<ArrayBuffer>;
    readonly receipt: CommitReceipt;
    readonly echoes: readonly CommitEcho[];
  }
  /** The refusals, in the kernel's order. */
  | {
    readonly kind: "refused";
    readonly bytes: Uint8Array<ArrayBuffer>;
    readonly refusals: readonly NetlinkAnswer[];
  }
  /** Not sent, since one of its series before was refused. */
  | { readonly kind: "skipped"; readonly bytes: Uint8Array<ArrayBuffer> };

/**
 * Batches that build on each other: with it the next can be handed over while the kernel works on one.
 * An object of this class stands for one series.
 */
export class CommitSeries {
  readonly name = "series";
}

/**
 * What a set has under the keys of a list: exactly the list's elements (`same`), also others
 * (`different`), or nothing under one of them.
 */
export type LookUpResult = "same" | "different" | "missing";

/** Owns one nf_tables socket. Calls are done one after the other, in order. */
export interface NfTransport {
  /** How many bytes the socket takes at once: see `NetlinkSocket.largestDatagram`. */
  readonly largestBatch: number;
  /** What commits of anybody touched; absent where nobody wants to know it. */
  readonly notices?: Pick<CommitNotices, "of" | "read">;
  /**
   * The ruleset's generation now: moves with every committed change of anybody in this network
   * namespace. Does not wait for commits that are under way.
   */
  generation(): Promise<number>;
  /** Hands over the bytes of a batch. */
  commit(bytes: Uint8Array<ArrayBuffer>, series?: CommitSeries): Promise<CommitResult>;
  /** Payloads of the answers (`struct nfgenmsg` and attributes). Throws `NetlinkError`. */
  query(query: NfQuery): Promise<readonly Uint8Array[]>;
  /** The same for many answers: each payload may be looked at until the call for it ends. */
  visit(query: NfQuery, visit: (payload: Uint8Array) => void): Promise<void>;
  /**
   * Payloads of the answers for each name, in the order of the names. Asks in one go: where a table
   * has many chains, dumping them one by one costs the kernel far less than dumping all their rules.
   */
  queryEach(queries: NfQueryEach): Promise<readonly (readonly Uint8Array[])[]>;
  /**
   * For the answers to a question, or to each of many, a number that is another one after any change of
   * what it is made of: see `AnswerDigest`. Costs what the kernel takes for the answers, and little more.
   */
  digests(query: NfDigestQuery): Promise<Float64Array>;
  /**
   * Dumps a set's elements at once, and compares them with a list of elements as soon as that is
   * there. Takes the list over.
   */
  compare(query: NfQuery, desired: Promise<Uint8Array<ArrayBuffer>>): Promise<ListDifference>;
  /** Asks a set for the keys of a list, which costs what the list costs. Takes the list over. */
  lookUp(query: NfQuery, elements: Uint8Array<ArrayBuffer>): Promise<LookUpResult>;
  /** Closes the socket; later calls fail. */
  close(): void;
}
