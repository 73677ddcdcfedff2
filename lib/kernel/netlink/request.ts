/** One request and its answers: everything but nf_tables batches is spoken with these two functions. */
import { Errno } from "../errno.ts";
import { hasErrno, NetlinkError } from "./errors.ts";
import {
  MessageFlag,
  MessageType,
  type NetlinkMessage,
  readAnswer,
  readDoneErrno,
  readMessages,
} from "./messages.ts";
import type { NetlinkSocket } from "./socket.ts";
import { MessageWriter } from "./writer.ts";

/** A request; `NLM_F_REQUEST` and what the function needs is added to `flags`. */
export interface NetlinkRequest {
  /** Completes "Cannot …": "list links". */
  readonly op: string;
  readonly type: number;
  readonly flags?: number;
  /** The fixed header behind nlmsghdr. */
  readonly family: Uint8Array;
  readonly attributes?: (writer: MessageWriter) => void;
}

/** Collects the messages of a dump; `start` is called again when the dump has to be repeated. */
export interface DumpCollector<T> {
  start(): T;
  /** The message's payload is overwritten after this returns: copy what is kept. */
  add(into: T, message: NetlinkMessage): void;
}

/** A table that changes all the time is given up after so many torn dumps. */
const MAX_DUMP_ATTEMPTS = 20;

/**
 * Sends a request and returns what the kernel replied (payloads are copies) before it acknowledged.
 * Throws `NetlinkError` with the kernel's words when it refused.
 */
export function transact(socket: NetlinkSocket, request: NetlinkRequest): NetlinkMessage[] {
  const sequence = sendRequest(socket, {
    ...request,
    flags: (request.flags ?? 0) | MessageFlag.ack,
  });
  const replies: NetlinkMessage[] = [];
  for (;;) {
    for (const message of readMessages(socket.receive(request.op))) {
      if (message.sequence !== sequence) continue;
      if (message.type === MessageType.error) {
        throwIfRefused(message, request.op);
        return replies;
      }
      replies.push({ ...message, payload: message.payload.slice() });
    }
  }
}

/**
 * Reads a whole table. A dump that the kernel calls torn (NLM_F_DUMP_INTR, EINTR) or that lost
 * messages (ENOBUFS) is repeated from the start, so the result is never half old and half new.
 */
export function dump<T>(
  socket: NetlinkSocket,
  request: NetlinkRequest,
  collector: DumpCollector<T>,
): T {
  for (let attempts = 1; attempts <= MAX_DUMP_ATTEMPTS; attempts++) {
    const result = collector.start();
    if (dumpOnce(socket, request, (message) => collector.add(result, message))) return result;
  }
  throw new NetlinkError({
    op: request.op,
    errno: Errno.EINTR,
    kernelMessage: `what is listed changed during each of ${MAX_DUMP_ATTEMPTS} attempts`,
  });
}

/** False when the dump was torn. Reads to its end even then, so that the socket is free again. */
function dumpOnce(
  socket: NetlinkSocket,
  request: NetlinkRequest,
  visit: (message: NetlinkMessage) => void,
): boolean {
  const flags = (request.flags ?? 0) | MessageFlag.dump;
  const sequence = sendRequest(socket, { ...request, flags });
  let torn = false;
  let fault: Fault | undefined;
  for (;;) {
    const datagram = receiveUnlessLost(socket, request.op);
    if (!datagram) torn = true;
    for (const message of datagram ? readMessages(datagram) : []) {
      if (message.sequence !== sequence) continue;
      if ((message.flags & MessageFlag.dumpInterrupted) !== 0) torn = true;
      if (message.type === MessageType.error) {
        throwIfRefused(message, request.op);
      } else if (message.type === MessageType.done) {
        if (fault) throw fault.error;
        const errno = readDoneErrno(message);
        if (errno !== 0 && errno !== Errno.EINTR) throw new NetlinkError({ op: request.op, errno });
        return errno === 0 && !torn;
      } else if (!torn && !fault) {
        fault = faultOf(() => visit(message));
      }
    }
  }
}

interface Fault {
  readonly error: unknown;
}

function faultOf(action: () => void): Fault | undefined {
  try {
    action();
    return undefined;
  } catch (error) {
    return { error };
  }
}

/** Undefined when the receive buffer overflowed: something is lost, what follows still comes. */
function receiveUnlessLost(socket: NetlinkSocket, op: string): Uint8Array | undefined {
  try {
    return socket.receive(op);
  } catch (error) {
    if (hasErrno(error, Errno.ENOBUFS)) return undefined;
    throw error;
  }
}

function sendRequest(socket: NetlinkSocket, request: NetlinkRequest): number {
  const sequence = socket.nextSequence();
  const writer = new MessageWriter(512);
  const flags = (request.flags ?? 0) | MessageFlag.request;
  writer.begin({ type: request.type, flags, sequence }, request.family);
  request.attributes?.(writer);
  writer.end();
  socket.send(writer.bytes(), request.op);
  return sequence;
}

function throwIfRefused(message: NetlinkMessage, op: string): void {
  const { errno, kernelMessage } = readAnswer(message);
  if (errno === 0) return;
  throw new NetlinkError({ op, errno, ...(kernelMessage !== undefined && { kernelMessage }) });
}
