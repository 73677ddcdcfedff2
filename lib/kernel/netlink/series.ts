/**
 * Many requests of which each stands by itself: a few datagrams carry them, and each refusal names its
 * own request. The kernel acknowledges the last one of a datagram alone, since it does them in their order.
 */
import { turnOfTheEventLoop } from "../../base/event_loop.ts";
import {
  MessageFlag,
  MessageType,
  type NetlinkAnswer,
  readAnswer,
  readMessages,
} from "./messages.ts";
import type { NetlinkRequest } from "./request.ts";
import type { NetlinkSocket } from "./socket.ts";
import { MessageWriter } from "./writer.ts";

/** So many refusals fit into a receive buffer that nobody may enlarge. */
const REQUESTS_AT_ONCE = 200;

/** What `sendSeries` sends. */
export interface Series {
  /** Completes "Cannot …", where it is the socket that fails: "change virtual servers". */
  readonly op: string;
  readonly count: number;
  /** The request at this index. */
  readonly request: (index: number) => Omit<NetlinkRequest, "op">;
  /** Aborting stops between two datagrams, by a throw. */
  readonly signal?: AbortSignal | undefined;
}

/** Sends all, and gives the event loop its turn between datagrams. What was refused, by index, in order. */
export async function sendSeries(
  socket: NetlinkSocket,
  series: Series,
): Promise<ReadonlyMap<number, NetlinkAnswer>> {
  const refused = new Map<number, NetlinkAnswer>();
  const writer = new MessageWriter();
  for (let from = 0; from < series.count; from += REQUESTS_AT_ONCE) {
    series.signal?.throwIfAborted();
    if (from > 0) await turnOfTheEventLoop();
    const until = Math.min(from + REQUESTS_AT_ONCE, series.count);
    sendSome(socket, { ...series, writer, from, until, refused });
  }
  return refused;
}

interface Part extends Series {
  readonly writer: MessageWriter;
  readonly from: number;
  readonly until: number;
  readonly refused: Map<number, NetlinkAnswer>;
}

function sendSome(socket: NetlinkSocket, part: Part): void {
  const { from, op, refused, until, writer } = part;
  writer.reset();
  const indexes = new Map<number, number>();
  let last = 0;
  for (let index = from; index < until; index++) {
    const { attributes, family, flags = 0, type } = part.request(index);
    last = socket.nextSequence();
    indexes.set(last, index);
    const ack = index === until - 1 ? MessageFlag.ack : 0;
    writer.begin({ type, flags: flags | MessageFlag.request | ack, sequence: last }, family);
    attributes?.(writer);
    writer.end();
  }
  socket.send(writer.bytes(), op);
  for (;;) {
    for (const message of readMessages(socket.receive(op))) {
      const index = indexes.get(message.sequence);
      if (message.type !== MessageType.error || index === undefined) continue;
      const answer = readAnswer(message);
      if (answer.errno !== 0) refused.set(index, answer);
      if (message.sequence === last) return;
    }
  }
}
