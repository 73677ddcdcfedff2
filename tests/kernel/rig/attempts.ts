/** One new connection or datagram from a namespace, and what became of it. */
import type { Protocol } from "../../../lib/base/protocol.ts";
import type { Outcome } from "./agent_protocol.ts";
import {
  errnos,
  POLLERR,
  POLLHUP,
  POLLIN,
  POLLOUT,
  setUsualOptions,
  SOCK_DGRAM,
  SOCK_RAW,
  SOCK_STREAM,
  type SocketKind,
} from "./libc.ts";
import type { Networks } from "./networks.ts";
import { decodeSctp, encodeSctp } from "./sctp.ts";

/** Where an attempt goes, and how long it may take. */
export interface Target {
  readonly namespace: string;
  readonly protocol: Protocol;
  readonly address: string;
  readonly port: number;
  readonly source?: string;
  readonly localPort?: number;
  readonly timeoutMs: number;
}

/** Told once for each attempt. */
export type OutcomeHandler = (outcome: Outcome, elapsedMs: number) => void;

/**
 * The kinds of sockets that speak a protocol. SCTP goes by raw packets: many kernels have no sockets
 * for it, and where they have, an ICMP error does not end a connect, so that no reject is seen.
 */
export function socketKind(protocol: Protocol): SocketKind {
  switch (protocol) {
    case "TCP":
      return { type: SOCK_STREAM, protocol: 6 };
    case "UDP":
      return { type: SOCK_DGRAM, protocol: 17 };
    case "SCTP":
      return { type: SOCK_RAW, protocol: 132 };
  }
}

/**
 * Connects, sends, or shakes hands, and reads the greeting. Two raw SCTP attempts from one namespace
 * to one address must not overlap: an ICMP error would reach both.
 */
export function attempt(networks: Networks, target: Target, done: OutcomeHandler): void {
  const startMs = performance.now();
  const kind = socketKind(target.protocol);
  const fd = networks.socket(target.namespace, target.address, kind);
  const { libc, reactor } = networks;
  setUsualOptions(libc, fd, target.address);
  const finish = (outcome: Outcome) => {
    cancel();
    reactor.close(fd);
    done(outcome, performance.now() - startMs);
  };
  const cancel = reactor.after(target.timeoutMs, () => finish({ kind: "dropped" }));

  const bound = bind(networks, fd, target);
  if (bound < 0) return finish(rejected(-bound, "bind"));
  const port = kind.type === SOCK_RAW ? 0 : target.port;
  const connected = libc.connect(fd, { address: target.address, port });
  if (connected < 0 && connected !== -errnos.EINPROGRESS) return finish(rejected(-connected));

  const handshake = kind.type === SOCK_RAW ? rawHandshake(networks, target) : undefined;
  if (kind.type !== SOCK_STREAM) {
    // A drop or reject on the way out answers EPERM here; what it was shows by an ICMP error or none.
    libc.send(fd, handshake?.packet ?? new TextEncoder().encode("?"));
  }
  const onReady = (events: number) => {
    const error = libc.takeError(fd);
    if (error !== 0 || events & POLLERR) {
      return finish(
        libc.takeIcmpError(fd) ? { kind: "rejected", reason: "ICMP" } : rejected(error),
      );
    }
    if (!(events & (POLLIN | POLLHUP))) return reactor.watch(fd, POLLIN, onReady);
    const buffer = new Uint8Array(2048);
    const { length } = libc.receive(fd, buffer);
    if (length === -errnos.EAGAIN) return;
    if (length < 0) return finish(rejected(-length));
    if (length === 0) return finish({ kind: "rejected", reason: "closed without a greeting" });
    const bytes = buffer.subarray(0, length);
    const greeting = handshake ? handshake.answer(bytes) : new TextDecoder().decode(bytes);
    if (greeting !== undefined) finish(parseGreeting(greeting));
  };
  reactor.watch(fd, kind.type === SOCK_STREAM ? POLLIN | POLLOUT : POLLIN, onReady);
}

/** Where the kernel shall not choose. Raw packets have the ports of their own. */
function bind(
  { libc }: Networks,
  fd: number,
  { address, localPort = 0, protocol, source }: Target,
): number {
  const port = protocol === "SCTP" ? 0 : localPort;
  if (source === undefined && port === 0) return 0;
  const anyAddress = address.includes(":") ? "::" : "0.0.0.0";
  return libc.bind(fd, { address: source ?? anyAddress, port });
}

/** What every echo server says: its name, the source address and port it saw. */
export function formatGreeting(name: string, address: string, port: number): string {
  return `${name} ${address} ${port}\n`;
}

function parseGreeting(text: string): Outcome {
  const [endpoint, source] = text.trim().split(" ");
  return { kind: "reached", endpoint, source };
}

function rejected(errno: number, during = ""): Outcome {
  const name = Object.entries(errnos).find(([, value]) => value === errno)?.[0] ?? `errno ${errno}`;
  return { kind: "rejected", reason: during === "" ? name : `${during}: ${name}` };
}

function rawHandshake(networks: Networks, target: Target) {
  const sourcePort = networks.nextRawPort();
  const initiateTag = sourcePort * 65537;
  const packet = encodeSctp({
    kind: "init",
    sourcePort,
    destinationPort: target.port,
    verificationTag: 0,
    initiateTag,
    cookie: "",
  });
  const answer = (bytes: Uint8Array): string | undefined => {
    const reply = decodeSctp(withoutIpHeader(bytes, target.address));
    const ours = reply?.kind === "init-ack" && reply.sourcePort === target.port &&
      reply.destinationPort === sourcePort && reply.verificationTag === initiateTag;
    return ours ? reply.cookie : undefined;
  };
  return { packet, answer };
}

/** A raw IPv4 socket hears the IP header too; an IPv6 one does not. */
export function withoutIpHeader(bytes: Uint8Array, address: string): Uint8Array {
  return address.includes(":") ? bytes : bytes.subarray((bytes[0] & 0xf) * 4);
}
