/** The echo servers of the rig. */
import type { Serve } from "./agent_protocol.ts";
import { formatGreeting, socketKind, withoutIpHeader } from "./attempts.ts";
import { POLLIN, setUsualOptions, SOCK_DGRAM, SOCK_RAW } from "./libc.ts";
import type { Networks } from "./networks.ts";
import { decodeSctp, encodeSctp } from "./sctp.ts";

/**
 * Starts a server that lives as long as the agent. Addresses need not be there yet. It greets each
 * connection, and answers whatever is said later with the same greeting.
 */
export function serve(networks: Networks, request: Serve): void {
  const { libc, reactor } = networks;
  const kind = socketKind(request.protocol);
  const fd = networks.socket(request.namespace, request.address, kind);
  setUsualOptions(libc, fd, request.address);
  const port = kind.type === SOCK_RAW ? 0 : request.port;
  mustSucceed(libc.bind(fd, { address: request.address, port }), "bind", request);
  if (kind.type === SOCK_DGRAM) {
    return reactor.watch(fd, POLLIN, () => greetDatagrams(networks, fd, request.name));
  }
  if (kind.type === SOCK_RAW) {
    return reactor.watch(fd, POLLIN, () => answerHandshakes(networks, fd, request));
  }
  mustSucceed(libc.listen(fd), "listen", request);
  reactor.watch(fd, POLLIN, () => acceptConnections(networks, fd, request.name));
}

/** All that wait: after a pause of the machine hundreds come at once. */
function acceptConnections(networks: Networks, listener: number, name: string): void {
  const { libc, reactor } = networks;
  for (;;) {
    const { fd, peer } = libc.accept(listener);
    if (fd < 0) return;
    const greeting = new TextEncoder().encode(formatGreeting(name, peer.address, peer.port));
    libc.send(fd, greeting);
    reactor.watch(fd, POLLIN, () => {
      const { length } = libc.receive(fd, new Uint8Array(256));
      if (length <= 0) return reactor.close(fd);
      libc.send(fd, greeting);
    });
  }
}

/** All that wait: on a slow machine one at a time looks like loss. */
function greetDatagrams(networks: Networks, fd: number, name: string): void {
  const { libc } = networks;
  const buffer = new Uint8Array(256);
  for (;;) {
    const { length, from } = libc.receive(fd, buffer);
    if (length < 0) return;
    libc.sendTo(fd, new TextEncoder().encode(formatGreeting(name, from.address, from.port)), from);
  }
}

/** All that wait, as for datagrams. */
function answerHandshakes(networks: Networks, fd: number, request: Serve): void {
  const { libc } = networks;
  const buffer = new Uint8Array(2048);
  for (;;) {
    const { length, from } = libc.receive(fd, buffer);
    if (length < 0) return;
    const packet = decodeSctp(withoutIpHeader(buffer.subarray(0, length), request.address));
    if (packet?.kind !== "init" || packet.destinationPort !== request.port) continue;
    const answer = encodeSctp({
      kind: "init-ack",
      sourcePort: packet.destinationPort,
      destinationPort: packet.sourcePort,
      verificationTag: packet.initiateTag,
      initiateTag: 1,
      cookie: formatGreeting(request.name, from.address, packet.sourcePort),
    });
    libc.sendTo(fd, answer, { address: from.address, port: 0 });
  }
}

function mustSucceed(result: number, call: string, request: Serve): void {
  if (result >= 0) return;
  const place = `${request.protocol} ${request.address} port ${request.port}`;
  throw new Error(`Cannot serve "${request.name}" on ${place}: ${call} gave errno ${-result}`);
}
