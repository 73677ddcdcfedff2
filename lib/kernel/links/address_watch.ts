/** Waits for address changes without a thread that turns: a parked `poll` on a multicast socket. */
import { Errno } from "../errno.ts";
import { hasErrno } from "../netlink/errors.ts";
import { MessageFlag, MessageType } from "../netlink/messages.ts";
import { NetlinkProtocol, NetlinkSocket } from "../netlink/socket.ts";
import { MessageWriter } from "../netlink/writer.ts";
import { AddressGroup } from "./messages.ts";

const OP = "watch interface addresses";
/** How long one wait lasts; it only bounds a wait that was not woken. */
const WAIT_MS = 3_600_000;

/** See `Links.watchAddresses`. The socket opens with the first step, in the caller's network namespace. */
export async function* watchAddresses(signal: AbortSignal): AsyncGenerator<void> {
  if (signal.aborted) return;
  using socket = new NetlinkSocket({ protocol: NetlinkProtocol.route });
  socket.join(AddressGroup.IPv4, OP);
  socket.join(AddressGroup.IPv6, OP);
  const wake = () => wakeUp(socket);
  signal.addEventListener("abort", wake);
  try {
    yield;
    for (;;) {
      await socket.waitReadable(WAIT_MS);
      if (signal.aborted) return;
      drain(socket);
      yield;
      if (signal.aborted) return;
    }
  } finally {
    signal.removeEventListener("abort", wake);
  }
}

/** Empties the socket: what changed is listed afresh, the notifications only say that something did. */
function drain(socket: NetlinkSocket): void {
  for (;;) {
    try {
      if (socket.receiveQueued(OP) === undefined) return;
    } catch (error) {
      // More changes than fit in the buffer: some notifications are lost, and none is needed.
      if (!hasErrno(error, Errno.ENOBUFS)) throw error;
    }
  }
}

/** The kernel acknowledges an empty request on the same socket, which ends the parked `poll`. */
function wakeUp(socket: NetlinkSocket): void {
  const writer = new MessageWriter(64);
  const flags = MessageFlag.request | MessageFlag.ack;
  writer.begin(
    { type: MessageType.noop, flags, sequence: socket.nextSequence() },
    new Uint8Array(0),
  );
  writer.end();
  socket.send(writer.bytes(), OP);
}
