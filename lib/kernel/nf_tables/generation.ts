/** The ruleset's generation: the question and its answer. */
import { Errno } from "../errno.ts";
import { readAttributes, readU32be } from "../netlink/attributes.ts";
import { NetlinkError } from "../netlink/errors.ts";
import { MessageFlag, MessageType, readAnswer, readMessages } from "../netlink/messages.ts";
import type { NetlinkSocket } from "../netlink/socket.ts";
import { MessageWriter } from "../netlink/writer.ts";
import { attributesOf, GenAttr, genmsg, Msg } from "./wire.ts";

const OP = "read the nf_tables generation";

/** Asks on one socket with as few calls as possible: every commit asks before and after. */
export class GenerationReader {
  readonly #socket: NetlinkSocket;
  readonly #request: Uint8Array<ArrayBuffer>;
  readonly #header: DataView<ArrayBuffer>;

  constructor(socket: NetlinkSocket) {
    this.#socket = socket;
    const writer = new MessageWriter(64);
    const everyFamily = genmsg(0);
    writer.begin({ type: Msg.getGen, flags: MessageFlag.request, sequence: 0 }, everyFamily);
    writer.end();
    this.#request = writer.bytes();
    this.#header = new DataView(this.#request.buffer);
  }

  /** The generation. Throws `NetlinkError` where the kernel refuses to tell. */
  read(): number {
    const sequence = this.#socket.nextSequence();
    this.#header.setUint32(8, sequence, true);
    this.#socket.send(this.#request, OP);
    for (;;) {
      for (const message of readMessages(this.#socket.receive(OP))) {
        if (message.sequence !== sequence) continue;
        if (message.type === MessageType.error) throw refusal(readAnswer(message).errno);
        return readGeneration(message.payload);
      }
    }
  }

  /** The generation; not a number where the kernel refuses to tell. */
  readIfTold(): number {
    try {
      return this.read();
    } catch (error) {
      if (error instanceof NetlinkError) return NaN;
      throw error;
    }
  }
}

function readGeneration(payload: Uint8Array): number {
  const id = readAttributes(attributesOf(payload)).get(GenAttr.id);
  if (!id) throw new TypeError("Cannot read the nf_tables generation: the kernel gave none");
  return readU32be(id);
}

/** Without nf_tables the kernel calls the question invalid, which no other answer to it is. */
function refusal(errno: number): NetlinkError {
  if (errno !== Errno.EINVAL) return new NetlinkError({ op: OP, errno });
  return new NetlinkError({
    op: OP,
    errno: Errno.EOPNOTSUPP,
    hint: "this kernel lacks nf_tables or its module is not loaded",
  });
}
