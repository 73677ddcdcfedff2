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
  /** Whether a torn dump and the torn one right before it say the same, so that it may be taken; never where absent. */
  agrees?(earlier: T, later: T): boolean;
  /** Whether a torn dump may be taken by itself; never where absent. */
  isGoodEvenTorn?(collected: T): boolean;
}

/** What a dump may be spoken over. */
export type RequestSocket = Pick<NetlinkSocket, "nextSequence" | "receive" | "send">;

/** A table that changes all the time is given up after so many torn dumps. */
const MAX_DUMP_ATTEMPTS = 20;

/**
 * Sends a request and returns what the kernel replied (payloads are copies) before it acknowledged.
 * Throws `NetlinkError` with the kernel's words when it refused.
 */
export function transact(socket: RequestSocket, request: NetlinkRequest): NetlinkMessage[] {
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
 * messages (ENOBUFS) is repeated from the start, so the result is never half old and half new, unless
 * its collector takes a torn one.
 */
export function dump<T>(
  socket: RequestSocket,
  request: NetlinkRequest,
  collector: DumpCollector<T>,
): T {
  let earlier: { readonly result: T } | undefined;
  for (let attempts = 1; attempts <= MAX_DUMP_ATTEMPTS; attempts++) {
    const result = collector.start();
    const outcome = dumpOnce(socket, request, (message) => collector.add(result, message));
    if (outcome === "whole") return result;
    if (outcome === "torn" && collector.isGoodEvenTorn?.(result)) return result;
    if (outcome === "torn" && earlier && collector.agrees?.(earlier.result, result)) return result;
    earlier = outcome === "torn" ? { result } : undefined;
  }
  throw new NetlinkError({
    op: request.op,
    errno: Errno.EINTR,
    kernelMessage: `what is listed changed during each of ${MAX_DUMP_ATTEMPTS} attempts`,
  });
}

/**
 * `torn`: every message came, but the kernel had gone on meanwhile. Reads to its end even where some got
 * lost, so that the socket is free again.
 */
function dumpOnce(
  socket: RequestSocket,
  request: NetlinkRequest,
  visit: (message: NetlinkMessage) => void,
): "whole" | "torn" | "lost" {
  const flags = (request.flags ?? 0) | MessageFlag.dump;
  const sequence = sendRequest(socket, { ...request, flags });
  let outcome: "whole" | "torn" | "lost" = "whole";
  let fault: Fault | undefined;
  for (;;) {
    const datagram = receiveUnlessLost(socket, request.op);
    if (!datagram) outcome = "lost";
    for (const message of datagram ? readMessages(datagram) : []) {
      if (message.sequence !== sequence) continue;
      const isTorn = (message.flags & MessageFlag.dumpInterrupted) !== 0;
      if (isTorn && outcome === "whole") outcome = "torn";
      if (message.type === MessageType.error) {
        throwIfRefused(message, request.op);
      } else if (message.type === MessageType.done) {
        if (fault) throw fault.error;
        const errno = readDoneErrno(message);
        if (errno === Errno.EINTR) return "lost";
        if (errno !== 0) throw new NetlinkError({ op: request.op, errno });
        return outcome;
      } else if (outcome !== "lost" && !fault) {
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
function receiveUnlessLost(socket: RequestSocket, op: string): Uint8Array | undefined {
  try {
    return socket.receive(op);
  } catch (error) {
    if (hasErrno(error, Errno.ENOBUFS)) return undefined;
    throw error;
  }
}

function sendRequest(socket: RequestSocket, request: NetlinkRequest): number {
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
