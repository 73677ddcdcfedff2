/** A kernel behind netlink sockets that answers each datagram as a test wants it. */
import { Errno } from "../../lib/kernel/errno.ts";
import { MessageType } from "../../lib/kernel/netlink/messages.ts";
import { replacingLibc } from "./recorded_kernel.ts";

/** A datagram, or the error number of a receive. */
export type Answer = Uint8Array | number;

/** A datagram that was sent. */
export interface Heard {
  readonly bytes: Uint8Array;
  /** Of each message in it. */
  readonly types: readonly number[];
  readonly sequences: readonly number[];
  /** How many were sent before. */
  readonly attempt: number;
}

/** What an answer begins with. */
export interface AnswerHeader {
  readonly type: number;
  readonly sequence: number;
  readonly flags?: number;
}

/** Runs the action on sockets to that kernel. Nothing is queued but what `answer` gives. */
export async function answeringKernel<T>(
  answer: (heard: Heard) => readonly Answer[],
  action: () => Promise<T>,
): Promise<T> {
  const errno = new Int32Array(1);
  const queue: Answer[] = [];
  let attempt = 0;
  return await replacingLibc({
    __errno_location: () => Deno.UnsafePointer.of(errno),
    socket: () => 1_000_000,
    bind: () => 0,
    close: () => 0,
    getsockopt: () => 0,
    setsockopt: () => 0,
    sendto: (_fd, bytes, length) => {
      queue.push(...answer({ ...headersOf(bytes as Uint8Array), attempt: attempt++ }));
      return length as bigint;
    },
    sendLater: (_fd, bytes, length) => {
      queue.push(...answer({ ...headersOf(bytes as Uint8Array), attempt: attempt++ }));
      return Promise.resolve(length as bigint);
    },
    recv: (_fd, buffer) => {
      const next = queue.shift() ?? Errno.EAGAIN;
      if (typeof next === "number") {
        errno[0] = next;
        return -1n;
      }
      (buffer as Uint8Array).set(next);
      return BigInt(next.length);
    },
  }, action);
}

function headersOf(bytes: Uint8Array): Omit<Heard, "attempt"> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const types: number[] = [];
  const sequences: number[] = [];
  for (let at = 0; at < bytes.length; at += (view.getUint32(at, true) + 3) & ~3) {
    types.push(view.getUint16(at + 4, true));
    sequences.push(view.getUint32(at + 8, true));
  }
  return { bytes: bytes.slice(), types, sequences };
}

/** A message behind a header. */
export function message(
  { flags = 0, sequence, type }: AnswerHeader,
  payload: Uint8Array,
): Uint8Array {
  const bytes = new Uint8Array(16 + payload.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, bytes.length, true);
  view.setUint16(4, type, true);
  view.setUint16(6, flags, true);
  view.setUint32(8, sequence, true);
  bytes.set(payload, 16);
  return bytes;
}

/** The end of a dump. */
export function done(sequence: number, errno = 0): Uint8Array {
  return message({ type: MessageType.done, sequence }, numbered(errno));
}

/** An acknowledgement, or with a number a refusal. */
export function refusal(sequence: number, errno: number): Uint8Array {
  return message({ type: MessageType.error, sequence }, numbered(errno));
}

/** The negative number, and the header of the message that it is about. */
function numbered(errno: number): Uint8Array {
  const bytes = new Uint8Array(20);
  new DataView(bytes.buffer).setInt32(0, -errno, true);
  return bytes;
}
