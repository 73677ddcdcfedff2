/**
 * What the commits of anybody touched, as the kernel tells it to whoever listens. The generation stays the
 * truth of whether something changed: this only says where. What does not fit into the socket's buffer is
 * lost, and the kernel says that some was; then nothing is known of any commit until that moment.
 */
import { Errno } from "../errno.ts";
import { readString, readU32be, visitAttributes } from "../netlink/attributes.ts";
import { hasErrno, NetlinkError } from "../netlink/errors.ts";
import { type NetlinkMessage, readMessages } from "../netlink/messages.ts";
import { NetlinkProtocol, NetlinkSocket } from "../netlink/socket.ts";
import { ChainAttr, GenAttr, GENMSG_BYTES, Msg, MULTICAST_GROUP, RuleAttr } from "./wire.ts";

/** A flush of ten thousand rules is told rule by rule. */
const RECEIVE_BUFFER_BYTES = 16 << 20;
/** Chains that are remembered, of all commits together. */
const MOST_CHAINS = 20_000;
const OP = "listen to nf_tables changes";

/** A chain, and what became of it. */
export interface TouchedChain {
  readonly nfproto: number;
  readonly table: string;
  readonly chain: string;
  /** It came, went, or has another name or other settings; else only its rules are others. */
  readonly isListed: boolean;
}

/** `later`: not told yet. `lost`: never will be. */
export type CommitNotice = readonly TouchedChain[] | "later" | "lost";

/** Where it is listened, and how. */
export interface CommitNoticesOptions {
  readonly receiveBufferBytes?: number;
}

/** Listens in the network namespace in which it was made. */
export class CommitNotices {
  readonly #socket: NetlinkSocket;
  readonly #commits = new Map<number, readonly TouchedChain[]>();
  #chains = 0;
  /** Of a commit whose end is still to come. */
  #begun = new Map<string, TouchedChain>();
  /** Nothing is known of this commit and those before it; undefined while nobody listens. */
  #unknown: number | undefined;
  #latest = 0;

  constructor({ receiveBufferBytes = RECEIVE_BUFFER_BYTES }: CommitNoticesOptions = {}) {
    this.#socket = new NetlinkSocket({ protocol: NetlinkProtocol.netfilter, receiveBufferBytes });
  }

  /** Takes what was told since the last call; the first one begins to listen. Asks for the generation. */
  async read(generation: () => Promise<number>): Promise<void> {
    if (this.#unknown === undefined && !this.#join()) return;
    const isWhole = this.#drain();
    if (isWhole && this.#unknown !== undefined) return;
    this.#commits.clear();
    this.#begun.clear();
    this.#chains = 0;
    // Only now: a commit whose notices were on their way has moved it already.
    this.#unknown = await generation();
  }

  /** What the commit touched that led to this generation. */
  of(generation: number): CommitNotice {
    const found = this.#commits.get(generation);
    if (found) return found;
    const isLate = this.#unknown !== undefined && generation > this.#unknown &&
      generation > this.#latest;
    return isLate ? "later" : "lost";
  }

  close(): void {
    this.#socket.close();
  }

  /** False: not permitted, or the kernel is too old. */
  #join(): boolean {
    try {
      this.#socket.join(MULTICAST_GROUP, OP);
      return true;
    } catch (error) {
      if (error instanceof NetlinkError) return false;
      throw error;
    }
  }

  /** False: something was lost. */
  #drain(): boolean {
    let isWhole = true;
    for (;;) {
      try {
        const datagram = this.#socket.receiveQueued(OP);
        if (!datagram) return isWhole;
        for (const message of readMessages(datagram)) this.#take(message);
      } catch (error) {
        if (!hasErrno(error, Errno.ENOBUFS)) throw error;
        isWhole = false;
      }
    }
  }

  #take({ payload, type }: NetlinkMessage): void {
    switch (type) {
      case Msg.newChain:
      case Msg.delChain:
        return this.#touch(payload, { chain: ChainAttr.name, isListed: true });
      case Msg.newRule:
      case Msg.delRule:
        return this.#touch(payload, { chain: RuleAttr.chain, isListed: false });
      case Msg.newGen:
        return this.#end(payload);
    }
  }

  #touch(
    payload: Uint8Array,
    { chain: attribute, isListed }: { readonly chain: number; readonly isListed: boolean },
  ): void {
    let table = "";
    let chain = "";
    visitAttributes(payload, { from: GENMSG_BYTES, to: payload.length }, (type, from, to) => {
      // Chains and rules have their table under the same number.
      if (type === RuleAttr.table) table = readString(payload.subarray(from, to));
      else if (type === attribute) chain = readString(payload.subarray(from, to));
      return table === "" || chain === "";
    });
    const nfproto = payload[0];
    const name = `${nfproto} ${table} ${chain}`;
    if (isListed || !this.#begun.has(name)) {
      this.#begun.set(name, { nfproto, table, chain, isListed });
    }
  }

  #end(payload: Uint8Array): void {
    let generation = 0;
    visitAttributes(payload, { from: GENMSG_BYTES, to: payload.length }, (type, from, to) => {
      if (type === GenAttr.id) generation = readU32be(payload.subarray(from, to));
    });
    const chains = [...this.#begun.values()];
    this.#begun = new Map();
    this.#commits.set(generation, chains);
    this.#chains += chains.length;
    this.#latest = generation;
    for (const [oldest, { length }] of this.#commits) {
      if (this.#chains <= MOST_CHAINS && this.#commits.size <= MOST_CHAINS) return;
      this.#commits.delete(oldest);
      this.#chains -= length;
      this.#unknown = oldest;
    }
  }
}
