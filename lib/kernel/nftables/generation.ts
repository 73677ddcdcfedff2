/** The ruleset's generation: the question and its answer. */
import { readAttributes, readU32be } from "../netlink/attributes.ts";
import { NetlinkError } from "../netlink/errors.ts";
import { MessageFlag, MessageType, readMessages } from "../netlink/messages.ts";
import type { NetlinkSocket } from "../netlink/socket.ts";
import { MessageWriter } from "../netlink/writer.ts";
import { attributesOf } from "./decode_table.ts";
import type { NftQuery } from "./transport.ts";
import { GenAttr, genmsg, Msg } from "./wire.ts";

/** Asks for the generation. */
export const generationQuery: NftQuery = {
  op: "read the nf_tables generation",
  type: Msg.getGen,
  nfproto: 0,
  names: [],
  dump: false,
};

/** Reads the answer. */
export function readGeneration([payload]: readonly Uint8Array[]): number {
  const id = payload && readAttributes(attributesOf(payload)).get(GenAttr.id);
  if (!id) throw new TypeError("Cannot read the nf_tables generation: the kernel gave none");
  return readU32be(id);
}

/** Asks on one socket with as few calls as possible: every commit asks before and after. */
export class GenerationReader {
  readonly #socket: NetlinkSocket;
  readonly #request: Uint8Array<ArrayBuffer>;
  readonly #header: DataView<ArrayBuffer>;

  constructor(socket: NetlinkSocket) {
    this.#socket = socket;
    const writer = new MessageWriter(64);
    writer.begin({ type: Msg.getGen, flags: MessageFlag.request, sequence: 0 }, genmsg(0));
    writer.end();
    this.#request = writer.bytes();
    this.#header = new DataView(this.#request.buffer);
  }

  /** The generation; not a number where the kernel refuses to tell. */
  read(): number {
    try {
      return this.#ask();
    } catch (error) {
      if (error instanceof NetlinkError) return NaN;
      throw error;
    }
  }

  #ask(): number {
    const { op } = generationQuery;
    const sequence = this.#socket.nextSequence();
    this.#header.setUint32(8, sequence, true);
    this.#socket.send(this.#request, op);
    for (;;) {
      for (const message of readMessages(this.#socket.receive(op))) {
        if (message.sequence !== sequence) continue;
        return message.type === MessageType.error ? NaN : readGeneration([message.payload]);
      }
    }
  }
}
