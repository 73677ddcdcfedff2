/** The nf_tables socket itself. The worker runs one of these; tools and tests use it in their own thread. */
import { MessageType, type NetlinkAnswer, readAnswer, readMessages } from "../netlink/messages.ts";
import { dump, transact } from "../netlink/request.ts";
import { NetlinkProtocol, NetlinkSocket } from "../netlink/socket.ts";
import { compareElementLists, type ListDifference } from "./compare_elements.ts";
import { joinElementLists } from "./element_cursor.ts";
import { GenerationReader } from "./generation.ts";
import type { CommitResult, NftQuery, NftTransport } from "./transport.ts";
import { genmsg } from "./wire.ts";

/** Each refused message answers by itself: room for tens of thousands. */
const RECEIVE_BUFFER_BYTES = 32 << 20;
/** A series ends with its refusal; a few more batches of it may be on their way. */
const REMEMBERED_SERIES = 64;
/** The kernel's table has grown long before. */
const MAX_DUMPS = 10;
const COMMIT = "commit nf_tables changes";

/** How the socket is opened. */
export interface DirectTransportOptions {
  readonly receiveBufferBytes?: number;
}

/** Speaks to the kernel in the calling thread; every promise it returns is settled already. */
export class DirectTransport implements NftTransport {
  readonly #socket: NetlinkSocket;
  readonly #generation: GenerationReader;
  /** Series that were refused, latest last. */
  readonly #stopped: number[] = [];

  /** Opens the socket in the network namespace of this thread. Throws `NetlinkError`. */
  constructor({ receiveBufferBytes = RECEIVE_BUFFER_BYTES }: DirectTransportOptions = {}) {
    this.#socket = new NetlinkSocket({ protocol: NetlinkProtocol.netfilter, receiveBufferBytes });
    this.#generation = new GenerationReader(this.#socket);
  }

  commit(bytes: Uint8Array<ArrayBuffer>, series?: number): Promise<CommitResult> {
    return settle(() => this.#commit(bytes, series));
  }

  query(query: NftQuery): Promise<readonly Uint8Array[]> {
    return settle(() => this.#payloads(query));
  }

  async compare(
    query: NftQuery,
    desired: Promise<Uint8Array<ArrayBuffer>>,
  ): Promise<ListDifference> {
    const [found, wanted] = await Promise.all([settle(() => this.dumpElements(query)), desired]);
    return this.compareDump(found, { query, desired: wanted });
  }

  /** Compares what `dumpElements` gave with a list of elements. A torn dump is repeated. */
  compareDump(
    dumped: Uint8Array,
    { desired, query }: {
      readonly query: NftQuery;
      readonly desired: Uint8Array<ArrayBuffer>;
    },
  ): ListDifference {
    let difference = compareElementLists(dumped, desired);
    for (let dumps = 1; difference.isTorn && dumps < MAX_DUMPS; dumps++) {
      difference = compareElementLists(this.dumpElements(query), desired);
    }
    return difference;
  }

  /** The elements of a set, as one list. Throws `NetlinkError`. */
  dumpElements(query: NftQuery): Uint8Array {
    return joinElementLists(this.#payloads(query));
  }

  close(): void {
    this.#socket.close();
  }

  #commit(bytes: Uint8Array<ArrayBuffer>, series: number | undefined): CommitResult {
    if (series !== undefined && this.#stopped.includes(series)) return { kind: "skipped", bytes };
    let isApplied = false;
    try {
      this.#drain();
      // Where the kernel does not tell, the batch itself says why, or is done all the same.
      const before = this.#generation.read();
      this.#socket.send(bytes, COMMIT);
      const refusals = this.#refusals();
      if (refusals.length > 0) return { kind: "refused", bytes, refusals };
      isApplied = true;
      return { kind: "applied", bytes, receipt: { before, after: this.#generation.read() } };
    } finally {
      if (!isApplied && series !== undefined) this.#stop(series);
    }
  }

  #stop(series: number): void {
    this.#stopped.push(series);
    if (this.#stopped.length > REMEMBERED_SERIES) this.#stopped.shift();
  }

  #payloads({ op, type, nfproto, names, dump: whole }: NftQuery): Uint8Array[] {
    const request = {
      op,
      type,
      family: genmsg(nfproto),
      attributes: (writer: { string(type: number, value: string): void }) => {
        for (const [attribute, name] of names) writer.string(attribute, name);
      },
    };
    if (!whole) return transact(this.#socket, request).map(({ payload }) => payload);
    return dump<Uint8Array[]>(this.#socket, request, {
      start: () => [],
      add: (payloads, { payload }) => payloads.push(payload.slice()),
    });
  }

  /** What an interrupted request left behind must not be taken for an answer to this one. */
  #drain(): void {
    while (this.#socket.receiveQueued(COMMIT) !== undefined);
  }

  /**
   * The kernel has queued every refusal when `send` returns. It acknowledges a successful batch on
   * new kernels only, so success is the absence of refusals; lost refusals are seen as ENOBUFS.
   */
  #refusals(): NetlinkAnswer[] {
    const refusals: NetlinkAnswer[] = [];
    for (;;) {
      const datagram = this.#socket.receiveQueued(COMMIT);
      if (!datagram) return refusals;
      for (const message of readMessages(datagram)) {
        if (message.type !== MessageType.error) continue;
        const answer = readAnswer(message);
        if (answer.errno !== 0) refusals.push(answer);
      }
    }
  }
}

function settle<T>(action: () => T): Promise<T> {
  try {
    return Promise.resolve(action());
  } catch (error) {
    return Promise.reject(error);
  }
}
