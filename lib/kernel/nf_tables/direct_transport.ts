/** The nf_tables socket itself. The worker runs one of these; tools and tests use it in their own thread. */
import { Errno } from "../errno.ts";
import { hasErrno } from "../netlink/errors.ts";
import { MessageType, type NetlinkAnswer, readAnswer, readMessages } from "../netlink/messages.ts";
import { dump, transact } from "../netlink/request.ts";
import { NetlinkProtocol, NetlinkSocket } from "../netlink/socket.ts";
import { AnswerDigest, type DigestOptions } from "./answer_digest.ts";
import { CommitNotices } from "./commit_notices.ts";
import { compareElementLists, type ListDifference } from "./compare_element_lists.ts";
import { pieces } from "./element_cursor.ts";
import { GenerationReader } from "./generation.ts";
import { ElementListJoiner, joinElementLists } from "./join_element_lists.ts";
import {
  type PackedGroups,
  type PackedPayloads,
  PayloadPacker,
  unpackGroups,
  unpackPayloads,
  visitPayloads,
} from "./packed_payloads.ts";
import { SeriesNumbers } from "./series_numbers.ts";
import { StoppedSeries } from "./stopped_series.ts";
import type {
  CommitEcho,
  CommitResult,
  CommitSeries,
  LookUpResult,
  NfDigestQuery,
  NfQuery,
  NfQueryEach,
  NfTransport,
} from "./transport.ts";
import { ElemListAttr, genmsg } from "./wire.ts";

/** Each refused message answers by itself: room for tens of thousands. */
const RECEIVE_BUFFER_BYTES = 32 << 20;
/** The kernel's table has grown long before. */
const MAX_DUMPS = 10;
/** Types below are netlink's own. */
const FIRST_ECHO = 0x10;
/** What an element list may take of an attribute's 16-bit length. */
const LONGEST_LIST = 60_000;
const NESTED = 0x8000;
const COMMIT = "commit nf_tables changes";

/** How the socket is opened. */
export interface DirectTransportOptions {
  readonly receiveBufferBytes?: number;
  /** Whether it shall be told of commits when somebody asks: that takes another socket. */
  readonly hasNotices?: boolean;
}

/** Speaks to the kernel in the calling thread; every promise it returns is settled already. */
export class DirectTransport implements NfTransport {
  readonly #socket: NetlinkSocket;
  readonly #generation: GenerationReader;
  readonly #series = new SeriesNumbers();
  readonly largestBatch: number;
  readonly notices?: CommitNotices;
  readonly #stopped = new StoppedSeries();

  /** Opens the socket in the network namespace of this thread. Throws `NetlinkError`. */
  constructor(options: DirectTransportOptions = {}) {
    const { hasNotices = false, receiveBufferBytes = RECEIVE_BUFFER_BYTES } = options;
    if (hasNotices) this.notices = new CommitNotices();
    this.#socket = new NetlinkSocket({ protocol: NetlinkProtocol.netfilter, receiveBufferBytes });
    this.largestBatch = this.#socket.largestDatagram();
    this.#generation = new GenerationReader(this.#socket);
  }

  generation(): Promise<number> {
    return settle(() => this.#generation.read());
  }

  commit(bytes: Uint8Array<ArrayBuffer>, series?: CommitSeries): Promise<CommitResult> {
    return settle(() => this.commitNumbered(bytes, this.#series.of(series)));
  }

  query(query: NfQuery): Promise<readonly Uint8Array[]> {
    return settle(() => unpackPayloads(this.packedPayloads(query)));
  }

  visit(query: NfQuery, visit: (payload: Uint8Array) => void): Promise<void> {
    return settle(() => visitPayloads(this.packedPayloads(query), visit));
  }

  queryEach(queries: NfQueryEach): Promise<readonly (readonly Uint8Array[])[]> {
    return settle(() => unpackGroups(this.packedPayloadsOfEach(queries)));
  }

  digests(query: NfDigestQuery): Promise<Float64Array> {
    return settle(() => this.digestsOf(query));
  }

  async compare(
    query: NfQuery,
    desired: Promise<Uint8Array<ArrayBuffer>>,
  ): Promise<ListDifference> {
    const [found, wanted] = await Promise.all([settle(() => this.dumpElements(query)), desired]);
    return this.compareDump(found, { query, desired: wanted });
  }

  lookUp(query: NfQuery, elements: Uint8Array<ArrayBuffer>): Promise<LookUpResult> {
    return settle(() => this.lookUpList(query, elements));
  }

  /** See `lookUp`. */
  lookUpList({ names, nfproto, op, type }: NfQuery, elements: Uint8Array): LookUpResult {
    const found: Uint8Array[] = [];
    try {
      for (const piece of pieces(elements, LONGEST_LIST)) {
        const replies = transact(this.#socket, {
          op,
          type,
          family: genmsg(nfproto),
          attributes: (writer) => {
            for (const [attribute, name] of names) writer.string(attribute, name);
            writer.raw(ElemListAttr.elements | NESTED, piece);
          },
        });
        for (const { payload } of replies) found.push(payload);
      }
    } catch (error) {
      // The kernel ends at the first that is not there.
      if (hasErrno(error, Errno.ENOENT)) return "missing";
      throw error;
    }
    const { missing } = compareElementLists(joinElementLists(found), elements);
    return missing.length === 0 ? "same" : "different";
  }

  /** Compares what `dumpElements` gave with a list of elements. A torn dump is repeated. */
  compareDump(
    dumped: Uint8Array,
    { desired, query }: {
      readonly query: NfQuery;
      readonly desired: Uint8Array<ArrayBuffer>;
    },
  ): ListDifference {
    let difference = compareElementLists(dumped, desired);
    for (let dumps = 1; difference.isTorn && dumps < MAX_DUMPS; dumps++) {
      difference = compareElementLists(this.dumpElements(query), desired);
    }
    return difference;
  }

  /** See `query`. */
  packedPayloads(query: NfQuery): PackedPayloads {
    return this.#pack(query, new PayloadPacker()).finish();
  }

  /** See `queryEach`. */
  packedPayloadsOfEach({ attribute, names, query }: NfQueryEach): PackedGroups {
    const packer = new PayloadPacker();
    const counts = Uint32Array.from(names, (name) => {
      const before = packer.count;
      this.#pack({ ...query, names: [...query.names, [attribute, name]] }, packer);
      return packer.count - before;
    });
    return { payloads: packer.finish(), counts };
  }

  /** See `digests`. */
  digestsOf({ asked, expected, options }: NfDigestQuery): Float64Array<ArrayBuffer> {
    if (!("query" in asked)) return Float64Array.of(this.#digest(asked, options, expected));
    const { attribute, names, query } = asked;
    return Float64Array.from(
      names,
      (name) => this.#digest({ ...query, names: [...query.names, [attribute, name]] }, options),
    );
  }

  /** The elements of a set, as one list. Throws `NetlinkError`. */
  dumpElements(query: NfQuery): Uint8Array {
    const joiner = dump<ElementListJoiner>(this.#socket, requestOf(query), {
      start: () => new ElementListJoiner(),
      add: (into, { payload }) => into.add(payload),
    });
    return joiner.list;
  }

  /** See `commit`; the series has a number. */
  commitNumbered(bytes: Uint8Array<ArrayBuffer>, series: number | undefined): CommitResult {
    if (this.#stopped.has(series)) return { kind: "skipped", bytes };
    let isApplied = false;
    try {
      const before = this.#generationBefore();
      this.#socket.send(bytes, COMMIT);
      const result = this.#outcome(bytes, before);
      isApplied = result.kind === "applied";
      return result;
    } finally {
      if (!isApplied) this.#stopped.add(series);
    }
  }

  /**
   * Commits on a thread of the runtime's; nothing else may be asked until then. Undefined where the
   * socket did not take the batch: nothing has happened, and `commit` says why.
   */
  async commitLater(bytes: Uint8Array<ArrayBuffer>): Promise<CommitResult | undefined> {
    const before = this.#generationBefore();
    return await this.#socket.sendLater(bytes) ? this.#outcome(bytes, before) : undefined;
  }

  close(): void {
    this.notices?.close();
    this.#socket.close();
  }

  /** Where the kernel does not tell, the batch itself says why, or is done all the same. */
  #generationBefore(): number {
    this.#drain();
    return this.#generation.readIfTold();
  }

  #outcome(bytes: Uint8Array<ArrayBuffer>, before: number): CommitResult {
    const { echoes, refusals } = this.#answers();
    if (refusals.length > 0) return { kind: "refused", bytes, refusals };
    const receipt = { before, after: this.#generation.readIfTold() };
    return { kind: "applied", bytes, receipt, echoes };
  }

  #digest(query: NfQuery, options: DigestOptions, expected?: number): number {
    const digest = dump<AnswerDigest>(this.#socket, requestOf(query), {
      start: () => new AnswerDigest(options),
      add: (into, { payload }) => into.add(payload),
      // Whoever asks compares it with an earlier one: what was left out by chance differs from that.
      agrees: (earlier, later) => earlier.value === later.value,
      isGoodEvenTorn: ({ value }) => value === expected,
    });
    return digest.value;
  }

  #pack(query: NfQuery, packer: PayloadPacker): PayloadPacker {
    const request = requestOf(query);
    if (!query.dump) {
      for (const { payload } of transact(this.#socket, request)) packer.add(payload);
      return packer;
    }
    const { settled } = query;
    const from = packer.count;
    dump<AnswerDigest | undefined>(this.#socket, request, {
      start: () => {
        packer.truncate(from);
        return settled && new AnswerDigest(settled);
      },
      add: (digest, { payload }) => {
        packer.add(payload);
        digest?.add(payload);
      },
      agrees: (earlier, later) => earlier !== undefined && earlier.value === later?.value,
    });
    return packer;
  }

  /** What an interrupted request left behind must not be taken for an answer to this one. */
  #drain(): void {
    while (this.#socket.receiveQueued(COMMIT) !== undefined);
  }

  /**
   * The kernel has queued every refusal and echo when `send` returns. It acknowledges a successful batch
   * on new kernels only, so success is the absence of refusals; lost answers are seen as ENOBUFS.
   */
  #answers(): { readonly refusals: NetlinkAnswer[]; readonly echoes: CommitEcho[] } {
    const refusals: NetlinkAnswer[] = [];
    const echoes: CommitEcho[] = [];
    for (;;) {
      const datagram = this.#socket.receiveQueued(COMMIT);
      if (!datagram) return { refusals, echoes };
      for (const message of readMessages(datagram)) {
        if (message.type === MessageType.error) {
          const answer = readAnswer(message);
          if (answer.errno !== 0) refusals.push(answer);
        } else if (message.type >= FIRST_ECHO) {
          const { payload, sequence, type } = message;
          echoes.push({ sequence, type, payload: payload.slice() });
        }
      }
    }
  }
}

function requestOf({ names, nfproto, op, type }: NfQuery) {
  return {
    op,
    type,
    family: genmsg(nfproto),
    attributes: (writer: { string(type: number, value: string): void }) => {
      for (const [attribute, name] of names) writer.string(attribute, name);
    },
  };
}

function settle<T>(action: () => T): Promise<T> {
  try {
    return Promise.resolve(action());
  } catch (error) {
    return Promise.reject(error);
  }
}
