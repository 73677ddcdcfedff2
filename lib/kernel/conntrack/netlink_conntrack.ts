/**
 * The connection table over netlink. Each call opens a socket of its own: calls are rare, and one
 * that is cut short then leaves nothing behind.
 */
import { hasErrno, NetlinkError } from "../netlink/errors.ts";
import {
  MessageFlag,
  MessageType,
  type NetlinkMessage,
  readAnswer,
  readDoneErrno,
  readMessages,
} from "../netlink/messages.ts";
import { NetlinkProtocol, NetlinkSocket } from "../netlink/socket.ts";
import { MessageWriter } from "../netlink/writer.ts";
import { Errno } from "../errno.ts";
import {
  type Conntrack,
  filterSelects,
  type Flow,
  type FlowFilter,
  type FlowListing,
  type ListFlowsOptions,
} from "./conntrack.ts";
import {
  conntrackHeader,
  ConntrackMessage,
  readFlow,
  writeFilter,
  writeFlowIdentity,
} from "./messages.ts";

/** As often as upstream reads the table before it makes do with a part. */
const LIST_ATTEMPTS = 5;
/** The event loop gets its turn after so long. */
const TURN_MS = 5;
/** Removals in one datagram: about 2 ms of the kernel's time. */
const REMOVALS_AT_ONCE = 1000;
/** Room for one removal: 112 bytes with IPv6 addresses and a zone. */
const REMOVAL_BYTES = 128;
const LIST_OP = "list connections";
const REMOVE_OP = "remove connections";

/** The real table. */
export class NetlinkConntrack implements Conntrack {
  async list(filter: FlowFilter, options: ListFlowsOptions = {}): Promise<FlowListing> {
    using socket = openSocket();
    return await listAll(socket, filter, options);
  }

  async remove(flows: readonly Flow[], signal?: AbortSignal): Promise<number> {
    if (flows.length === 0) return 0;
    using socket = openSocket();
    return await removeAll(socket, flows, signal);
  }
}

async function listAll(
  socket: NetlinkSocket,
  filter: FlowFilter,
  options: ListFlowsOptions,
): Promise<FlowListing> {
  let flows: readonly Flow[] = [];
  for (let attempt = 1; attempt <= LIST_ATTEMPTS; attempt++) {
    const found = await listOnce(socket, filter, options);
    if (!found.torn) return { flows: found.flows, complete: true };
    flows = found.flows;
  }
  return { flows, complete: false };
}

async function removeAll(
  socket: NetlinkSocket,
  flows: readonly Flow[],
  signal: AbortSignal | undefined,
): Promise<number> {
  let removed = 0;
  for (let at = 0; at < flows.length; at += REMOVALS_AT_ONCE) {
    signal?.throwIfAborted();
    if (at > 0) await nextTurn();
    removed += removeSome(socket, flows.slice(at, at + REMOVALS_AT_ONCE));
  }
  return removed;
}

interface Attempt {
  readonly flows: readonly Flow[];
  readonly torn: boolean;
}

/** One pass through the table. Reads to its end even when torn, so that the socket is free again. */
async function listOnce(
  socket: NetlinkSocket,
  filter: FlowFilter,
  { signal, wanted }: ListFlowsOptions,
): Promise<Attempt> {
  const sequence = sendListRequest(socket, filter);
  const flows: Flow[] = [];
  let torn = false;
  let turnEndsAt = performance.now() + TURN_MS;
  for (;;) {
    signal?.throwIfAborted();
    const datagram = receiveUnlessLost(socket);
    if (!datagram) torn = true;
    for (const message of datagram ? readMessages(datagram) : []) {
      if (message.sequence !== sequence) continue;
      if ((message.flags & MessageFlag.dumpInterrupted) !== 0) torn = true;
      if (message.type === MessageType.error) throwIfRefused(message);
      else if (message.type === MessageType.done) return { flows, torn: isTorn(message) || torn };
      else {
        const flow = readFlow(message);
        // Kernels without CTA_FILTER in dumps send everything, and some filters are wider.
        if (flow && filterSelects(filter, flow) && (wanted?.(flow) ?? true)) flows.push(flow);
      }
    }
    if (performance.now() >= turnEndsAt) {
      await nextTurn();
      turnEndsAt = performance.now() + TURN_MS;
    }
  }
}

function sendListRequest(socket: NetlinkSocket, filter: FlowFilter): number {
  const sequence = socket.nextSequence();
  const writer = new MessageWriter(256);
  const flags = MessageFlag.request | MessageFlag.dump;
  writer.begin({ type: ConntrackMessage.get, flags, sequence }, conntrackHeader(filter.family));
  writeFilter(writer, filter);
  writer.end();
  socket.send(writer.bytes(), LIST_OP);
  return sequence;
}

/** Removes by the whole tuple and the entry's number; counts those that were still there. */
function removeSome(socket: NetlinkSocket, flows: readonly Flow[]): number {
  const writer = new MessageWriter(flows.length * REMOVAL_BYTES);
  const flags = MessageFlag.request | MessageFlag.ack;
  const waiting = new Set<number>();
  for (const flow of flows) {
    const sequence = socket.nextSequence();
    waiting.add(sequence);
    writer.begin(
      { type: ConntrackMessage.delete, flags, sequence },
      conntrackHeader(flow.family),
    );
    writeFlowIdentity(writer, flow);
    writer.end();
  }
  socket.send(writer.bytes(), REMOVE_OP);
  let removed = 0;
  let refusal: NetlinkError | undefined;
  while (waiting.size > 0) {
    for (const message of readMessages(socket.receive(REMOVE_OP))) {
      if (message.type !== MessageType.error || !waiting.delete(message.sequence)) continue;
      const { errno, kernelMessage } = readAnswer(message);
      if (errno === 0) removed++;
      else if (errno !== Errno.ENOENT) refusal ??= refused(REMOVE_OP, errno, kernelMessage);
    }
  }
  if (refusal) throw refusal;
  return removed;
}

function openSocket(): NetlinkSocket {
  return new NetlinkSocket({ protocol: NetlinkProtocol.netfilter });
}

function isTorn(done: NetlinkMessage): boolean {
  const errno = readDoneErrno(done);
  if (errno !== 0 && errno !== Errno.EINTR) throw refused(LIST_OP, errno);
  return errno !== 0;
}

/** Undefined when the receive buffer overflowed: something is lost, what follows still comes. */
function receiveUnlessLost(socket: NetlinkSocket): Uint8Array | undefined {
  try {
    return socket.receive(LIST_OP);
  } catch (error) {
    if (hasErrno(error, Errno.ENOBUFS)) return undefined;
    throw error;
  }
}

function throwIfRefused(message: NetlinkMessage): void {
  const { errno, kernelMessage } = readAnswer(message);
  if (errno !== 0) throw refused(LIST_OP, errno, kernelMessage);
}

function refused(op: string, errno: number, kernelMessage?: string): NetlinkError {
  return new NetlinkError({
    op,
    errno,
    ...(kernelMessage !== undefined && { kernelMessage }),
    // What nfnetlink says of a subsystem that is not there.
    ...(errno === Errno.EINVAL && { hint: "load the kernel module nf_conntrack_netlink" }),
  });
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
