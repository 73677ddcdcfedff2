/**
 * A synchronous netlink socket of any protocol. The kernel does the work inside `send`, so when it
 * returns the answers are queued already. One socket belongs to one thread and one user at a time.
 *
 * A socket stays in the network namespace in which its thread was when it was opened.
 */
import { Errno } from "../errno.ts";
import { lastErrno, libc } from "../libc.ts";
import { NetlinkError } from "./errors.ts";

/** Protocols of AF_NETLINK. */
export const NetlinkProtocol = { route: 0, netfilter: 12, generic: 16 } as const;

/** How a socket is opened. */
export interface NetlinkSocketOptions {
  /** See `NetlinkProtocol`. */
  readonly protocol: number;
  /** For answers that pile up: acknowledgements of a large batch. Default 4 MiB. */
  readonly receiveBufferBytes?: number;
  /** How long `receive` waits for the kernel. Default 10 s. */
  readonly receiveTimeoutMs?: number;
}

const AF_NETLINK = 16;
const SOCK_RAW_CLOEXEC = 3 | 0x80000;
const SOL_SOCKET = 1;
const SOL_NETLINK = 270;
const SO = { sndbuf: 7, rcvbuf: 8, rcvtimeo: 20, sndbufForce: 32, rcvbufForce: 33 } as const;
const NETLINK = { addMembership: 1, capAck: 10, extAck: 11 } as const;
const MSG_DONTWAIT = 0x40;
const MSG_TRUNC = 0x20;
const POLLIN = 1;
/** Larger than any datagram the kernel sends; dumps come in pieces of up to 32 KiB. */
const RECEIVE_BYTES = 256 * 1024;
const DEFAULT_SEND_BUFFER = 64 * 1024;
/** More than any limit lets a buffer grow; the kernel doubles it. */
const MOST_BYTES = 1 << 30;
/** What the kernel keeps of a send buffer for itself. */
const DATAGRAM_OVERHEAD = 32;

/** An open netlink socket; `using` closes it. */
export class NetlinkSocket implements Disposable {
  readonly #fd: number;
  readonly #received = new Uint8Array(RECEIVE_BYTES);
  readonly #kernel = kernelAddress();
  #sendBuffer = DEFAULT_SEND_BUFFER;
  #sequence = 0;
  #open = true;

  /** Opens and binds. Throws `NetlinkError`, for instance where the kernel lacks the protocol. */
  constructor(options: NetlinkSocketOptions) {
    this.#fd = libc.socket(AF_NETLINK, SOCK_RAW_CLOEXEC, options.protocol);
    if (this.#fd < 0) throw failure("open a netlink socket");
    try {
      this.#force(SO.rcvbufForce, SO.rcvbuf, options.receiveBufferBytes ?? 4 << 20);
      this.#setReceiveTimeout(options.receiveTimeoutMs ?? 10_000);
      // Kernels before 4.12 and 4.3 lack these two; answers are then merely shorter or longer.
      this.#setOption(SOL_NETLINK, NETLINK.extAck, 1);
      this.#setOption(SOL_NETLINK, NETLINK.capAck, 1);
      if (libc.bind(this.#fd, this.#kernel, this.#kernel.length) < 0) {
        throw failure("bind a netlink socket");
      }
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** A fresh number for a request; answers carry it. Never 0, which the kernel uses for events. */
  nextSequence(): number {
    this.#sequence = (this.#sequence % 0x7fffffff) + 1;
    return this.#sequence;
  }

  /** Sends one datagram, however large. `op` completes "Cannot …" in the error. */
  send(datagram: Uint8Array<ArrayBuffer>, op: string): void {
    this.#growSendBuffer(datagram.length);
    for (;;) {
      const sent = libc.sendto(
        this.#fd,
        datagram,
        BigInt(datagram.length),
        0,
        this.#kernel,
        this.#kernel.length,
      );
      if (Number(sent) >= 0) return;
      const errno = lastErrno();
      // Interrupted before the kernel took the datagram: nothing has happened yet.
      if (errno !== Errno.EINTR) throw failure(op, errno);
    }
  }

  /**
   * The same on a thread of the runtime's, while this one goes on; false where the kernel took nothing.
   * The datagram must stay as it is until then, and the socket must not be used.
   */
  async sendLater(datagram: Uint8Array<ArrayBuffer>): Promise<boolean> {
    this.#growSendBuffer(datagram.length);
    // Without an address: the kernel, as one that is not connected.
    const sent = await libc.sendLater(this.#fd, datagram, BigInt(datagram.length), 0);
    return Number(sent) >= 0;
  }

  /**
   * How large a datagram may be. Infinity where this program may make its send buffer as large as it
   * needs (CAP_NET_ADMIN over the machine); else as large as `net.core.wmem_max` lets it grow.
   */
  largestDatagram(): number {
    if (this.#setOption(SOL_SOCKET, SO.sndbufForce, this.#sendBuffer)) return Infinity;
    this.#setOption(SOL_SOCKET, SO.sndbuf, MOST_BYTES);
    const value = new Int32Array(1);
    const bytes = new Uint8Array(value.buffer);
    const length = new Uint8Array(Int32Array.of(4).buffer);
    if (libc.getsockopt(this.#fd, SOL_SOCKET, SO.sndbuf, bytes, length) < 0) {
      throw failure("read the send buffer of a netlink socket");
    }
    this.#sendBuffer = value[0] - DATAGRAM_OVERHEAD;
    return this.#sendBuffer;
  }

  /** Waits for a datagram; the view is overwritten by the next receive. Throws EAGAIN when none comes in time. */
  receive(op: string): Uint8Array {
    for (;;) {
      const size = this.#receive(0);
      if (size >= 0) return this.#datagram(size, op);
      if (-size !== Errno.EINTR) throw failure(op, -size);
    }
  }

  /** A datagram that is queued already, or undefined. */
  receiveQueued(op: string): Uint8Array | undefined {
    for (;;) {
      const size = this.#receive(MSG_DONTWAIT);
      if (size >= 0) return this.#datagram(size, op);
      if (-size === Errno.EAGAIN) return undefined;
      if (-size !== Errno.EINTR) throw failure(op, -size);
    }
  }

  /** Resolves to whether something can be received, after at most so long. The event loop goes on meanwhile. */
  async waitReadable(timeoutMs: number): Promise<boolean> {
    const request = new Uint8Array(8);
    const view = new DataView(request.buffer);
    view.setInt32(0, this.#fd, true);
    view.setInt16(4, POLLIN, true);
    await libc.pollLater(request, 1n, timeoutMs);
    return view.getInt16(6, true) !== 0;
  }

  /** Receives events of a multicast group from now on. */
  join(group: number, op: string): void {
    if (!this.#setOption(SOL_NETLINK, NETLINK.addMembership, group)) throw failure(op);
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    libc.close(this.#fd);
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** The size, or the negative error number. */
  #receive(flags: number): number {
    const size = libc.recv(this.#fd, this.#received, BigInt(RECEIVE_BYTES), flags | MSG_TRUNC);
    return Number(size) < 0 ? -lastErrno() : Number(size);
  }

  #datagram(size: number, op: string): Uint8Array {
    if (size > RECEIVE_BYTES) throw failure(op, Errno.EMSGSIZE);
    return this.#received.subarray(0, size);
  }

  /** The kernel refuses a datagram larger than the send buffer with EMSGSIZE. */
  #growSendBuffer(size: number): void {
    if (size <= this.#sendBuffer) return;
    this.#sendBuffer = Math.max(size + DEFAULT_SEND_BUFFER, this.#sendBuffer * 2);
    this.#force(SO.sndbufForce, SO.sndbuf, this.#sendBuffer);
  }

  /** Beyond the system's limit with CAP_NET_ADMIN, else up to it: `send` says so when that is too little. */
  #force(forced: number, limited: number, value: number): void {
    if (this.#setOption(SOL_SOCKET, forced, value)) return;
    this.#setOption(SOL_SOCKET, limited, value);
  }

  #setReceiveTimeout(timeoutMs: number): void {
    const timeval = new BigInt64Array([
      BigInt(Math.floor(timeoutMs / 1000)),
      BigInt((timeoutMs % 1000) * 1000),
    ]);
    const bytes = new Uint8Array(timeval.buffer);
    if (libc.setsockopt(this.#fd, SOL_SOCKET, SO.rcvtimeo, bytes, 16) < 0) {
      throw failure("set the timeout of a netlink socket");
    }
  }

  #setOption(level: number, option: number, value: number): boolean {
    const bytes = new Uint8Array(new Int32Array([value]).buffer);
    return libc.setsockopt(this.#fd, level, option, bytes, 4) === 0;
  }
}

/** `struct sockaddr_nl` of the kernel: family, padding, port 0, no groups. */
function kernelAddress(): Uint8Array<ArrayBuffer> {
  const address = new Uint8Array(12);
  address[0] = AF_NETLINK;
  return address;
}

function failure(op: string, errno = lastErrno()): NetlinkError {
  return new NetlinkError({ op, errno });
}
