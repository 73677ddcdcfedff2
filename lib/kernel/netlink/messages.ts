/** Reading netlink messages (`struct nlmsghdr`: u32 length, u16 type, u16 flags, u32 sequence, u32 port). */
import { forEachAttribute, readString, readU32 } from "./attributes.ts";

/** Message types below 0x10 are the protocol's own. */
export const MessageType = { noop: 1, error: 2, done: 3, overrun: 4 } as const;

/** Flags of requests (the last four mean different things for GET and NEW) and of replies. */
export const MessageFlag = {
  request: 0x1,
  ack: 0x4,
  echo: 0x8,
  dumpInterrupted: 0x10,
  /** GET: NLM_F_ROOT | NLM_F_MATCH. */
  dump: 0x300,
  /** NEW: */
  replace: 0x100,
  exclusive: 0x200,
  create: 0x400,
  append: 0x800,
  /** Replies of type error: */
  capped: 0x100,
  extendedAck: 0x200,
} as const;

/** Size of `struct nlmsghdr`. */
export const HEADER_BYTES = 16;

/** One received message; `payload` is a view that the next receive overwrites. */
export interface NetlinkMessage {
  readonly type: number;
  readonly flags: number;
  readonly sequence: number;
  readonly payload: Uint8Array;
}

/** What the kernel answered: `errno` 0 is an acknowledgement. */
export interface NetlinkAnswer {
  readonly sequence: number;
  readonly errno: number;
  readonly kernelMessage?: string;
  /** Where in the request the fault lies, in bytes from its header. */
  readonly offset?: number;
}

/** The messages of one datagram, in order. A broken length throws. */
export function* readMessages(datagram: Uint8Array): Generator<NetlinkMessage> {
  const view = new DataView(datagram.buffer, datagram.byteOffset, datagram.length);
  let at = 0;
  while (at + HEADER_BYTES <= datagram.length) {
    const length = view.getUint32(at, true);
    if (length < HEADER_BYTES || at + length > datagram.length) {
      throw new RangeError(
        `Cannot read netlink message: it says ${length} bytes of ${datagram.length - at}`,
      );
    }
    yield {
      type: view.getUint16(at + 4, true),
      flags: view.getUint16(at + 6, true),
      sequence: view.getUint32(at + 8, true),
      payload: datagram.subarray(at + HEADER_BYTES, at + length),
    };
    at += (length + 3) & ~3;
  }
}

/** Reads `struct nlmsgerr` and the attributes of an extended acknowledgement behind it. */
export function readAnswer(message: NetlinkMessage): NetlinkAnswer {
  const { payload, sequence } = message;
  // 0 - n, since -0 is not 0 to a strict comparison.
  const errno = 0 - (readU32(payload) | 0);
  if ((message.flags & MessageFlag.extendedAck) === 0) return { sequence, errno };
  // The request's header follows the number; the rest of the request too, unless capped.
  const request = (message.flags & MessageFlag.capped) !== 0
    ? HEADER_BYTES
    : readU32(payload.subarray(4));
  return { sequence, errno, ...readExtendedAck(payload.subarray(4 + ((request + 3) & ~3))) };
}

/** The error number in a message of type `done` (0 when there is none). */
export function readDoneErrno(message: NetlinkMessage): number {
  return message.payload.length >= 4 ? 0 - (readU32(message.payload) | 0) : 0;
}

/** NLMSGERR_ATTR_MSG and NLMSGERR_ATTR_OFFS. */
function readExtendedAck(bytes: Uint8Array): { kernelMessage?: string; offset?: number } {
  const found: { kernelMessage?: string; offset?: number } = {};
  forEachAttribute(bytes, (type, value) => {
    if (type === 1) found.kernelMessage = readString(value);
    else if (type === 2) found.offset = readU32(value);
  });
  return found;
}
